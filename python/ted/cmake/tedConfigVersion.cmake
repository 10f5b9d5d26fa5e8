# find_package(ted 0.1): the version is that of the Python package, of which this file is a part.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../__init__.py" PACKAGE_VERSION REGEX "^__version__")
string(REGEX REPLACE "^.*\"(.*)\".*$" "\\1" PACKAGE_VERSION "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+[.][0-9]+" ted_release "${PACKAGE_VERSION}")
if(PACKAGE_FIND_VERSION # before 1.0 the second number is the interface
   AND (PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION
        OR PACKAGE_FIND_VERSION VERSION_LESS ted_release))
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
