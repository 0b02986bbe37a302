// SPDX-License-Identifier: Apache-2.0

/// V8 in a process, and the functions of JavaScript that its threads run.
public struct SnapshotScripts: Sendable, Equatable {
    /// The extent to which the stacks could be read.
    public enum Reading: UInt32, Sendable {
        /// All of them.
        case complete = 0
        /// None: this version does not describe the structures that are needed.
        case unknownVersion = 1
        /// A part: a limit on frames, bytes or time was reached.
        case cut = 2
    }

    /// A function.
    public struct Function: Sendable, Equatable {
        /// The name; empty if it has none.
        public var name: SnapshotText
        /// The path or URL of its script; empty if it has none.
        public var file: SnapshotText
        /// The line at which it begins; nil if it is unknown.
        public var line: Int?
    }

    /// The extent to which the stacks could be read.
    public var reading: Reading
    /// The functions on all stacks.
    public var functions: [Function] = []
    /// By thread and frame pointer, the index into ``functions`` of what may run there: of frames that are left over from
    /// earlier calls, too.
    public var frames: [Int32: [UInt64: Int]] = [:]
}
