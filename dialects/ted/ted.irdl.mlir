// The operations of the dialect `ted`, generated from dialects/ted/ops.py; do not edit.
// To write it again: python -m ted.dialects.irdl > dialects/ted/ted.irdl.mlir
module {
  irdl.dialect @ted {
    irdl.operation @compute {
      %0 = irdl.any
      %1 = irdl.any
      %2 = irdl.any
      %3 = irdl.any
      %4 = irdl.any
      %5 = irdl.any
      %6 = irdl.any
      %7 = irdl.any
      %8 = irdl.any
      %9 = irdl.any
      %10 = irdl.any
      %11 = irdl.any
      %12 = irdl.any
      %13 = irdl.any
      %14 = irdl.any
      %15 = irdl.any
      %16 = irdl.any
      %17 = irdl.any
      %18 = irdl.any
      %19 = irdl.any
      %20 = irdl.any
      %21 = irdl.any
      %22 = irdl.any
      %23 = irdl.any
      %24 = irdl.any
      %25 = irdl.any
      %26 = irdl.any
      %27 = irdl.any
      %28 = irdl.any
      %29 = irdl.any
      %30 = irdl.any
      %31 = irdl.any
      %32 = irdl.any
      %33 = irdl.any
      %34 = irdl.any
      %35 = irdl.any
      %36 = irdl.any
      %37 = irdl.any
      %38 = irdl.any
      %39 = irdl.any
      %40 = irdl.any
      %41 = irdl.any
      %42 = irdl.any
      %43 = irdl.any
      %44 = irdl.any
      %45 = irdl.any
      %46 = irdl.any
      %47 = irdl.any
      %48 = irdl.any
      %49 = irdl.any
      %50 = irdl.any
      %51 = irdl.any
      %52 = irdl.any
      %53 = irdl.any
      %54 = irdl.any
      %55 = irdl.any
      %56 = irdl.any
      %57 = irdl.any
      %58 = irdl.any
      %59 = irdl.any
      %60 = irdl.any
      %61 = irdl.any
      %62 = irdl.any
      %63 = irdl.any
      irdl.operands(operands_0: variadic %0, operands_1: variadic %1, operands_2: variadic %2, operands_3: variadic %3, operands_4: variadic %4, operands_5: variadic %5, operands_6: variadic %6, operands_7: variadic %7, operands_8: variadic %8, operands_9: variadic %9, operands_10: variadic %10, operands_11: variadic %11, operands_12: variadic %12, operands_13: variadic %13, operands_14: variadic %14, operands_15: variadic %15, operands_16: variadic %16, operands_17: variadic %17, operands_18: variadic %18, operands_19: variadic %19, operands_20: variadic %20, operands_21: variadic %21, operands_22: variadic %22, operands_23: variadic %23, operands_24: variadic %24, operands_25: variadic %25, operands_26: variadic %26, operands_27: variadic %27, operands_28: variadic %28, operands_29: variadic %29, operands_30: variadic %30, operands_31: variadic %31, operands_32: variadic %32, operands_33: variadic %33, operands_34: variadic %34, operands_35: variadic %35, operands_36: variadic %36, operands_37: variadic %37, operands_38: variadic %38, operands_39: variadic %39, operands_40: variadic %40, operands_41: variadic %41, operands_42: variadic %42, operands_43: variadic %43, operands_44: variadic %44, operands_45: variadic %45, operands_46: variadic %46, operands_47: variadic %47, operands_48: variadic %48, operands_49: variadic %49, operands_50: variadic %50, operands_51: variadic %51, operands_52: variadic %52, operands_53: variadic %53, operands_54: variadic %54, operands_55: variadic %55, operands_56: variadic %56, operands_57: variadic %57, operands_58: variadic %58, operands_59: variadic %59, operands_60: variadic %60, operands_61: variadic %61, operands_62: variadic %62, operands_63: variadic %63)
      %64 = irdl.any
      %65 = irdl.base "#builtin.array" 
      %66 = irdl.base "#builtin.integer_set" 
      %67 = irdl.base "#builtin.array" 
      %68 = irdl.base "#builtin.array" 
      %69 = irdl.base "#builtin.affine_map" 
      %70 = irdl.base "#builtin.string" 
      irdl.attributes {"extents" = %64, "iterators" = %65, "domain" = %66, "reads" = %67, "guards" = %68, "write" = %69, "combiner" = %70}
      %71 = irdl.base "!builtin.tensor" 
      %72 = irdl.base "!builtin.tensor" 
      irdl.results(value: %71, position: optional %72)
      %73 = irdl.region
      irdl.regions(body: %73)
    }
    irdl.operation @scan {
      %0 = irdl.any
      %1 = irdl.any
      %2 = irdl.any
      %3 = irdl.any
      %4 = irdl.any
      %5 = irdl.any
      %6 = irdl.any
      %7 = irdl.any
      %8 = irdl.any
      %9 = irdl.any
      %10 = irdl.any
      %11 = irdl.any
      %12 = irdl.any
      %13 = irdl.any
      %14 = irdl.any
      %15 = irdl.any
      %16 = irdl.any
      %17 = irdl.any
      %18 = irdl.any
      %19 = irdl.any
      %20 = irdl.any
      %21 = irdl.any
      %22 = irdl.any
      %23 = irdl.any
      %24 = irdl.any
      %25 = irdl.any
      %26 = irdl.any
      %27 = irdl.any
      %28 = irdl.any
      %29 = irdl.any
      %30 = irdl.any
      %31 = irdl.any
      %32 = irdl.any
      %33 = irdl.any
      %34 = irdl.any
      %35 = irdl.any
      %36 = irdl.any
      %37 = irdl.any
      %38 = irdl.any
      %39 = irdl.any
      %40 = irdl.any
      %41 = irdl.any
      %42 = irdl.any
      %43 = irdl.any
      %44 = irdl.any
      %45 = irdl.any
      %46 = irdl.any
      %47 = irdl.any
      %48 = irdl.any
      %49 = irdl.any
      %50 = irdl.any
      %51 = irdl.any
      %52 = irdl.any
      %53 = irdl.any
      %54 = irdl.any
      %55 = irdl.any
      %56 = irdl.any
      %57 = irdl.any
      %58 = irdl.any
      %59 = irdl.any
      %60 = irdl.any
      %61 = irdl.any
      %62 = irdl.any
      %63 = irdl.any
      irdl.operands(operands_0: variadic %0, operands_1: variadic %1, operands_2: variadic %2, operands_3: variadic %3, operands_4: variadic %4, operands_5: variadic %5, operands_6: variadic %6, operands_7: variadic %7, operands_8: variadic %8, operands_9: variadic %9, operands_10: variadic %10, operands_11: variadic %11, operands_12: variadic %12, operands_13: variadic %13, operands_14: variadic %14, operands_15: variadic %15, operands_16: variadic %16, operands_17: variadic %17, operands_18: variadic %18, operands_19: variadic %19, operands_20: variadic %20, operands_21: variadic %21, operands_22: variadic %22, operands_23: variadic %23, operands_24: variadic %24, operands_25: variadic %25, operands_26: variadic %26, operands_27: variadic %27, operands_28: variadic %28, operands_29: variadic %29, operands_30: variadic %30, operands_31: variadic %31, operands_32: variadic %32, operands_33: variadic %33, operands_34: variadic %34, operands_35: variadic %35, operands_36: variadic %36, operands_37: variadic %37, operands_38: variadic %38, operands_39: variadic %39, operands_40: variadic %40, operands_41: variadic %41, operands_42: variadic %42, operands_43: variadic %43, operands_44: variadic %44, operands_45: variadic %45, operands_46: variadic %46, operands_47: variadic %47, operands_48: variadic %48, operands_49: variadic %49, operands_50: variadic %50, operands_51: variadic %51, operands_52: variadic %52, operands_53: variadic %53, operands_54: variadic %54, operands_55: variadic %55, operands_56: variadic %56, operands_57: variadic %57, operands_58: variadic %58, operands_59: variadic %59, operands_60: variadic %60, operands_61: variadic %61, operands_62: variadic %62, operands_63: variadic %63)
      %64 = irdl.any
      %65 = irdl.any
      %66 = irdl.any
      irdl.attributes {"times" = %64, "steps" = %65, "reverse" = %66}
      %67 = irdl.any
      %68 = irdl.any
      %69 = irdl.any
      %70 = irdl.any
      %71 = irdl.any
      %72 = irdl.any
      %73 = irdl.any
      %74 = irdl.any
      %75 = irdl.any
      %76 = irdl.any
      %77 = irdl.any
      %78 = irdl.any
      %79 = irdl.any
      %80 = irdl.any
      %81 = irdl.any
      %82 = irdl.any
      %83 = irdl.any
      %84 = irdl.any
      %85 = irdl.any
      %86 = irdl.any
      %87 = irdl.any
      %88 = irdl.any
      %89 = irdl.any
      %90 = irdl.any
      %91 = irdl.any
      %92 = irdl.any
      %93 = irdl.any
      %94 = irdl.any
      %95 = irdl.any
      %96 = irdl.any
      %97 = irdl.any
      %98 = irdl.any
      %99 = irdl.any
      %100 = irdl.any
      %101 = irdl.any
      %102 = irdl.any
      %103 = irdl.any
      %104 = irdl.any
      %105 = irdl.any
      %106 = irdl.any
      %107 = irdl.any
      %108 = irdl.any
      %109 = irdl.any
      %110 = irdl.any
      %111 = irdl.any
      %112 = irdl.any
      %113 = irdl.any
      %114 = irdl.any
      %115 = irdl.any
      %116 = irdl.any
      %117 = irdl.any
      %118 = irdl.any
      %119 = irdl.any
      %120 = irdl.any
      %121 = irdl.any
      %122 = irdl.any
      %123 = irdl.any
      %124 = irdl.any
      %125 = irdl.any
      %126 = irdl.any
      %127 = irdl.any
      %128 = irdl.any
      %129 = irdl.any
      %130 = irdl.any
      irdl.results(results_0: variadic %67, results_1: variadic %68, results_2: variadic %69, results_3: variadic %70, results_4: variadic %71, results_5: variadic %72, results_6: variadic %73, results_7: variadic %74, results_8: variadic %75, results_9: variadic %76, results_10: variadic %77, results_11: variadic %78, results_12: variadic %79, results_13: variadic %80, results_14: variadic %81, results_15: variadic %82, results_16: variadic %83, results_17: variadic %84, results_18: variadic %85, results_19: variadic %86, results_20: variadic %87, results_21: variadic %88, results_22: variadic %89, results_23: variadic %90, results_24: variadic %91, results_25: variadic %92, results_26: variadic %93, results_27: variadic %94, results_28: variadic %95, results_29: variadic %96, results_30: variadic %97, results_31: variadic %98, results_32: variadic %99, results_33: variadic %100, results_34: variadic %101, results_35: variadic %102, results_36: variadic %103, results_37: variadic %104, results_38: variadic %105, results_39: variadic %106, results_40: variadic %107, results_41: variadic %108, results_42: variadic %109, results_43: variadic %110, results_44: variadic %111, results_45: variadic %112, results_46: variadic %113, results_47: variadic %114, results_48: variadic %115, results_49: variadic %116, results_50: variadic %117, results_51: variadic %118, results_52: variadic %119, results_53: variadic %120, results_54: variadic %121, results_55: variadic %122, results_56: variadic %123, results_57: variadic %124, results_58: variadic %125, results_59: variadic %126, results_60: variadic %127, results_61: variadic %128, results_62: variadic %129, results_63: variadic %130)
      %131 = irdl.region
      irdl.regions(body: %131)
    }
    irdl.operation @yield {
      %0 = irdl.any
      %1 = irdl.any
      %2 = irdl.any
      %3 = irdl.any
      %4 = irdl.any
      %5 = irdl.any
      %6 = irdl.any
      %7 = irdl.any
      %8 = irdl.any
      %9 = irdl.any
      %10 = irdl.any
      %11 = irdl.any
      %12 = irdl.any
      %13 = irdl.any
      %14 = irdl.any
      %15 = irdl.any
      %16 = irdl.any
      %17 = irdl.any
      %18 = irdl.any
      %19 = irdl.any
      %20 = irdl.any
      %21 = irdl.any
      %22 = irdl.any
      %23 = irdl.any
      %24 = irdl.any
      %25 = irdl.any
      %26 = irdl.any
      %27 = irdl.any
      %28 = irdl.any
      %29 = irdl.any
      %30 = irdl.any
      %31 = irdl.any
      %32 = irdl.any
      %33 = irdl.any
      %34 = irdl.any
      %35 = irdl.any
      %36 = irdl.any
      %37 = irdl.any
      %38 = irdl.any
      %39 = irdl.any
      %40 = irdl.any
      %41 = irdl.any
      %42 = irdl.any
      %43 = irdl.any
      %44 = irdl.any
      %45 = irdl.any
      %46 = irdl.any
      %47 = irdl.any
      %48 = irdl.any
      %49 = irdl.any
      %50 = irdl.any
      %51 = irdl.any
      %52 = irdl.any
      %53 = irdl.any
      %54 = irdl.any
      %55 = irdl.any
      %56 = irdl.any
      %57 = irdl.any
      %58 = irdl.any
      %59 = irdl.any
      %60 = irdl.any
      %61 = irdl.any
      %62 = irdl.any
      %63 = irdl.any
      irdl.operands(operands_0: variadic %0, operands_1: variadic %1, operands_2: variadic %2, operands_3: variadic %3, operands_4: variadic %4, operands_5: variadic %5, operands_6: variadic %6, operands_7: variadic %7, operands_8: variadic %8, operands_9: variadic %9, operands_10: variadic %10, operands_11: variadic %11, operands_12: variadic %12, operands_13: variadic %13, operands_14: variadic %14, operands_15: variadic %15, operands_16: variadic %16, operands_17: variadic %17, operands_18: variadic %18, operands_19: variadic %19, operands_20: variadic %20, operands_21: variadic %21, operands_22: variadic %22, operands_23: variadic %23, operands_24: variadic %24, operands_25: variadic %25, operands_26: variadic %26, operands_27: variadic %27, operands_28: variadic %28, operands_29: variadic %29, operands_30: variadic %30, operands_31: variadic %31, operands_32: variadic %32, operands_33: variadic %33, operands_34: variadic %34, operands_35: variadic %35, operands_36: variadic %36, operands_37: variadic %37, operands_38: variadic %38, operands_39: variadic %39, operands_40: variadic %40, operands_41: variadic %41, operands_42: variadic %42, operands_43: variadic %43, operands_44: variadic %44, operands_45: variadic %45, operands_46: variadic %46, operands_47: variadic %47, operands_48: variadic %48, operands_49: variadic %49, operands_50: variadic %50, operands_51: variadic %51, operands_52: variadic %52, operands_53: variadic %53, operands_54: variadic %54, operands_55: variadic %55, operands_56: variadic %56, operands_57: variadic %57, operands_58: variadic %58, operands_59: variadic %59, operands_60: variadic %60, operands_61: variadic %61, operands_62: variadic %62, operands_63: variadic %63)
    }
    irdl.operation @index {
      %0 = irdl.base "#builtin.integer" 
      irdl.attributes {"dim" = %0}
      %1 = irdl.base "!builtin.index" 
      irdl.results(value: %1)
    }
    irdl.operation @size {
      %0 = irdl.base "#builtin.affine_map" 
      irdl.attributes {"value" = %0}
      %1 = irdl.base "!builtin.index" 
      irdl.results(result_value: %1)
    }
    irdl.operation @load {
      %0 = irdl.base "!builtin.tensor" 
      %1 = irdl.is i1 
      %2 = irdl.base "!builtin.index" 
      irdl.operands(source: %0, predicate: %1, indices: variadic %2)
      %3 = irdl.base "#builtin.string" 
      irdl.attributes {"mode" = %3}
      %4 = irdl.any
      irdl.results(value: %4)
    }
    irdl.operation @stop_gradient {
      %0 = irdl.any
      irdl.operands(operand_value: %0)
      %1 = irdl.any
      irdl.results(result_value: %1)
    }
  }
}
