"""What each operation of Tile IR is: written by hand, one line an operation, keyed by the encoder's class
name.

Mnemonics are those of the IR's public definition. Effects: `pure` depends on nothing but its operands;
`read`, `write` and `read_write` touch memory; `control` holds regions or ends one; `print` writes text or
stops the launch with a text; `order` moves no data but may be neither merged nor dropped (tokens, fences,
fresh memory); `none` is never executed. The family is the name of the file that holds the evaluator.
Exactness is that of docs/semantics.md: E the bits of a GPU, U within `ulps` units in the last place
(float32, default rounding), R within what the order of a sum explains.
"""

from __future__ import annotations

from cutile_sim.optable.spec import Effect, Meaning

_SHARED_GPUS = "it needs memory shared by several GPUs"
_FOREIGN_CODE = "it calls foreign code that is not in the file"


def _pure(mnemonic: str, family: str, summary: str) -> Meaning:
    return Meaning(mnemonic, family, "pure", summary)


def _within(ulps: int, mnemonic: str, summary: str) -> Meaning:
    return Meaning(mnemonic, "math", "pure", summary, exactness="U", ulps=ulps)


def _sum(mnemonic: str, family: str, effect: Effect, summary: str) -> Meaning:
    return Meaning(mnemonic, family, effect, summary, exactness="R")


def _refused(mnemonic: str, effect: Effect, summary: str, why: str) -> Meaning:
    return Meaning(mnemonic, "unsupported", effect, summary, unsupported=why)


def _structural(mnemonic: str, summary: str) -> Meaning:
    return Meaning(mnemonic, "structural", "none", summary, structural=True)


MEANINGS: dict[str, Meaning] = {
    "AbsIOp": _pure("absi", "integer", "Absolute value of the signed reading of an integer."),
    "AddIOp": _pure("addi", "integer", "Sum of integers, modulo two to the width."),
    "AndIOp": _pure("andi", "integer", "Bitwise and."),
    "CmpIOp": _pure("cmpi", "integer", "Comparison of integers, signed or unsigned; yields i1."),
    "DivIOp": _pure("divi", "integer", "Quotient of integers, rounded to zero, down or up."),
    "MaxIOp": _pure("maxi", "integer", "Larger of two integers, signed or unsigned."),
    "MinIOp": _pure("mini", "integer", "Smaller of two integers, signed or unsigned."),
    "MulIOp": _pure("muli", "integer", "Product of integers, modulo two to the width."),
    "MulhiIOp": _pure("mulhii", "integer", "Upper half of the double-width product of unsigned integers."),
    "NegIOp": _pure("negi", "integer", "Negation of an integer, modulo two to the width."),
    "OrIOp": _pure("ori", "integer", "Bitwise or."),
    "RemIOp": _pure("remi", "integer", "Remainder of the division rounded to zero; has the sign of the dividend."),
    "ShLIOp": _pure("shli", "integer", "Shift to the left."),
    "ShRIOp": _pure("shri", "integer", "Shift to the right: arithmetic where signed, logical where unsigned."),
    "SubIOp": _pure("subi", "integer", "Difference of integers, modulo two to the width."),
    "XOrIOp": _pure("xori", "integer", "Bitwise exclusive or."),
    "AbsFOp": _pure("absf", "floating", "Absolute value: clears the sign bit."),
    "AddFOp": _pure("addf", "floating", "Sum, rounded once."),
    "CmpFOp": _pure("cmpf", "floating", "Comparison, ordered or unordered; yields i1."),
    "DivFOp": _pure("divf", "floating", "Quotient, rounded once; the full and approx modes are within 1 and 2 units."),
    "FmaOp": _pure("fma", "floating", "Product plus addend, rounded once."),
    "MaxFOp": _pure("maxf", "floating", "Larger of two numbers; drops or propagates a NaN."),
    "MinFOp": _pure("minf", "floating", "Smaller of two numbers; drops or propagates a NaN."),
    "MulFOp": _pure("mulf", "floating", "Product, rounded once."),
    "NegFOp": _pure("negf", "floating", "Negation: flips the sign bit."),
    "RemFOp": _pure("remf", "floating", "Remainder of the division rounded to zero; has the sign of the dividend."),
    "SubFOp": _pure("subf", "floating", "Difference, rounded once."),
    "Atan2Op": _within(1, "atan2", "Angle of the point (y, x)."),
    "CeilOp": _pure("ceil", "math", "Smallest whole number that is not less."),
    "CosOp": _within(1, "cos", "Cosine."),
    "CosHOp": _within(2, "cosh", "Hyperbolic cosine."),
    "ExpOp": _within(2, "exp", "Power of e; approx is within 58 units."),
    "Exp2Op": _within(2, "exp2", "Power of two."),
    "FloorOp": _pure("floor", "math", "Largest whole number that is not greater."),
    "FPowFOp": _within(1, "pow", "Power with a floating-point exponent."),
    "FPowIOp": _within(1, "fpowi", "Power with an integer exponent."),
    "LogOp": _within(1, "log", "Natural logarithm."),
    "Log2Op": _within(1, "log2", "Logarithm to base two."),
    "RsqrtOp": _within(1, "rsqrt", "Reciprocal of the square root."),
    "SinOp": _within(1, "sin", "Sine."),
    "SinHOp": _within(2, "sinh", "Hyperbolic sine."),
    "SqrtOp": _pure("sqrt", "math", "Square root, rounded once; approx is within 1 unit."),
    "TanOp": _within(3, "tan", "Tangent."),
    "TanHOp": _within(2, "tanh", "Hyperbolic tangent; approx gives a Hopper GPU's bits, within 134 units."),
    "BitcastOp": _pure("bitcast", "conversion", "The same bits read as another type of the same width."),
    "ExtIOp": _pure("exti", "conversion", "Integer to a wider integer, by sign or by zeros."),
    "FToFOp": _pure("ftof", "conversion", "Floating point to another floating-point type."),
    "FToIOp": _pure("ftoi", "conversion", "Floating point to integer, rounded to zero."),
    "IToFOp": _pure("itof", "conversion", "Integer to floating point, rounded once."),
    "IntToPtrOp": _pure("int_to_ptr", "conversion", "64-bit integer to pointer."),
    "PtrToIntOp": _pure("ptr_to_int", "conversion", "Pointer to 64-bit integer."),
    "PtrToPtrOp": _pure("ptr_to_ptr", "conversion", "Pointer to a pointer to another element type."),
    "TruncIOp": _pure("trunci", "conversion", "Integer to a narrower integer: keeps the low bits."),
    "BroadcastOp": _pure("broadcast", "shape", "Repeats a tile along its dimensions of size one."),
    "CatOp": _pure("cat", "shape", "Joins two tiles along one dimension."),
    "ConstantOp": _pure("constant", "shape", "A tile written in the file."),
    "ExtractOp": _pure("extract", "shape", "One slice of a tile, chosen by slice indices."),
    "InsertOp": _pure("insert", "shape", "A tile with one slice replaced, chosen by slice indices."),
    "IotaOp": _pure("iota", "shape", "0, 1, 2, ... along one dimension."),
    "PackOp": _pure("pack", "shape", "The bytes of a one-dimensional tile, as i8."),
    "PermuteOp": _pure("permute", "shape", "A tile with its dimensions in another order."),
    "ReshapeOp": _pure("reshape", "shape", "The same elements in row-major order under another shape."),
    "SelectOp": _pure("select", "shape", "Elements of one tile or of another, by a tile of i1."),
    "UnpackOp": _pure("unpack", "shape", "A one-dimensional tile read from i8 bytes."),
    "MmaFOp": _sum("mmaf", "mma", "pure", "Matrix product of floating-point tiles plus an accumulator."),
    "MmaFScaledOp": _sum("mmaf_scaled", "mma", "pure", "Matrix product of block-scaled tiles plus an accumulator."),
    "MmaIOp": _pure("mmai", "mma", "Matrix product of i8 tiles plus an i32 accumulator."),
    "ReduceOp": _sum("reduce", "reduce", "pure", "Combines all elements along one dimension by its region."),
    "ScanOp": _sum("scan", "reduce", "pure", "Combines running prefixes along one dimension by its region."),
    "AllocaOp": Meaning("alloca", "memory", "order", "Fresh memory that lives as long as the block."),
    "GetGlobalOp": _pure("get_global", "memory", "Pointer to a global of the module."),
    "JoinTokensOp": Meaning("join_tokens", "memory", "order", "A token after all its tokens."),
    "LoadPtrTkoOp": Meaning("load_ptr_tko", "memory", "read", "Reads the elements at a tile of pointers."),
    "MakeTokenOp": Meaning("make_token", "memory", "order", "A token that waits for nothing."),
    "MemoryFenceAliasTkoOp": Meaning(
        "memory_fence_alias_tko",
        "memory",
        "order",
        "Orders accesses to the same memory under several addresses.",
    ),
    "OffsetOp": _pure("offset", "memory", "Pointers moved by a number of elements."),
    "StorePtrTkoOp": Meaning("store_ptr_tko", "memory", "write", "Writes the elements at a tile of pointers."),
    "GetIndexSpaceShapeOp": _pure("get_index_space_shape", "views", "How many tiles a view has along each dimension."),
    "GetTensorShapeOp": _pure("get_tensor_shape", "views", "The shape of a tensor view, in elements."),
    "LoadViewTkoOp": Meaning("load_view_tko", "views", "read", "Reads one tile of a view."),
    "MakeGatherScatterViewOp": _pure(
        "make_gather_scatter_view", "views", "A view with one dimension given lane by lane."
    ),
    "MakePartitionViewOp": _pure("make_partition_view", "views", "A tensor cut into tiles of one shape."),
    "MakeStridedViewOp": _pure("make_strided_view", "views", "Tiles of one shape a fixed number of elements apart."),
    "MakeTensorViewOp": _pure("make_tensor_view", "views", "A pointer with shape and strides."),
    "StoreViewTkoOp": Meaning("store_view_tko", "views", "write", "Writes one tile of a view."),
    "AtomicCASTkoOp": Meaning(
        "atomic_cas_tko",
        "atomics",
        "read_write",
        "Atomic compare and swap at a tile of pointers; yields the old values.",
    ),
    "AtomicRMWTkoOp": _sum(
        "atomic_rmw_tko",
        "atomics",
        "read_write",
        "Atomic update at a tile of pointers; yields the old values.",
    ),
    "AtomicRedViewTkoOp": _sum(
        "atomic_red_view_tko",
        "atomics",
        "read_write",
        "Atomic update of one tile of a view; yields no old values.",
    ),
    "BreakOp": Meaning("break", "control", "control", "Ends a loop with its results."),
    "ContinueOp": Meaning("continue", "control", "control", "Begins the next turn of a loop with its values."),
    "ForOp": Meaning("for", "control", "control", "Counts from a lower to an upper bound by a step."),
    "IfOp": Meaning("if", "control", "control", "Runs one of two regions."),
    "LoopOp": Meaning("loop", "control", "control", "Repeats its region until a break."),
    "ReturnOp": Meaning("return", "control", "control", "Ends the block."),
    "YieldOp": Meaning("yield", "control", "control", "Ends a region with its results."),
    "GdcLaunchDependentsTkoOp": Meaning(
        "gdc_launch_dependents_tko", "grid", "order", "Lets a dependent launch begin early."
    ),
    "GdcWaitTkoOp": Meaning("gdc_wait_tko", "grid", "order", "Waits for the launch that this one depends on."),
    "GetNumTileBlocksOp": _pure("get_num_tile_blocks", "grid", "The size of the grid in x, y and z."),
    "GetTileBlockIdOp": _pure("get_tile_block_id", "grid", "The block's place in the grid in x, y and z."),
    "AssertOp": Meaning("assert", "debug", "print", "Stops the launch with a text where an element is false."),
    "AssumeOp": _pure("assume", "debug", "Its operand, with a promise about its values."),
    "PrintTkoOp": Meaning("print_tko", "debug", "print", "Writes text with the values of tiles."),
    "EntryOp": _structural("entry", "A kernel; written as a record of the function section."),
    "GlobalOp": _structural("global", "A named block of memory; written as a record of the global section."),
    "ModuleOp": _structural("module", "The whole file."),
    "MultimemLoadReduceViewTkoOp": _refused(
        "multimem_load_reduce_view_tko", "read", "Reads a tile from all GPUs and combines them.", _SHARED_GPUS
    ),
    "MultimemReduceViewTkoOp": _refused(
        "multimem_reduce_view_tko", "read_write", "Combines a tile into the memory of all GPUs.", _SHARED_GPUS
    ),
    "MultimemStoreViewTkoOp": _refused(
        "multimem_store_view_tko", "write", "Writes a tile to the memory of all GPUs.", _SHARED_GPUS
    ),
    "PreviewCallOp": _refused("preview_call", "read_write", "Calls a function of the preview set.", _FOREIGN_CODE),
}
