// SPDX-License-Identifier: Apache-2.0

/// The CPython interpreter of a process, and the Python functions that its threads run.
public struct SnapshotInterpreter: Sendable, Equatable {
    /// The extent to which the interpreter's stacks could be read.
    public enum Reading: UInt32, Sendable {
        /// The stacks of all threads with registers.
        case complete = 0
        /// None: the layout of this version's structures is unknown.
        case unknownVersion = 1
        /// A part: a limit on frames, bytes or time was reached.
        case cut = 2
    }

    /// One call of a Python function.
    public struct Frame: Sendable, Equatable {
        /// Index into ``SnapshotInterpreter/codes``; nil if the function is unknown.
        public var code: Int?
        /// The index of the code unit that is evaluated; nil if the function has not begun.
        public var instruction: Int?
        /// Whether this is the outermost frame of one call of the evaluator, a C function.
        public var isEntry: Bool
    }

    /// A Python function: parts of its code object.
    public struct Code: Sendable, Equatable {
        /// The line of the function's definition, from 1.
        public var firstLine: Int
        /// `co_qualname`.
        public var name: SnapshotText
        /// `co_filename`.
        public var file: SnapshotText
        /// `co_linetable`, or `co_lnotab` of 3.9; possibly without its end.
        public var locations: ArraySlice<UInt8>
    }

    /// `PY_VERSION_HEX`, without the patch level before 3.11; 0 for a version before 3.9.
    public var version: UInt32
    /// The extent to which the stacks could be read.
    public var reading: Reading
    /// The addresses of the evaluator, `_PyEval_EvalFrameDefault`; empty if they are unknown.
    public var evaluator: Range<UInt64>
    /// The thread that holds the interpreter's lock (GIL); nil if it is free or the thread is unknown.
    public var lockHolder: Int32?
    /// The functions on all stacks.
    public var codes: [Code] = []
    /// The calls by thread, innermost first.
    public var stacks: [Int32: [Frame]] = [:]
}
