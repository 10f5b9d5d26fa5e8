// A dialect with one operation, for driver.mlir.
irdl.dialect @small {
  irdl.operation @nothing {
  }
}
