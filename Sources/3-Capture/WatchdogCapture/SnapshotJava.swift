// SPDX-License-Identifier: Apache-2.0

/// HotSpot, OpenJDK's virtual machine, in a process, and the methods that its threads run.
public struct SnapshotJava: Sendable, Equatable {
    /// The extent to which the stacks could be read.
    public enum Reading: UInt32, Sendable {
        /// Those of all threads with registers.
        case complete = 0
        /// None: this version does not describe the structures that are needed.
        case unknownVersion = 1
        /// A part: a limit on frames, bytes or time was reached.
        case cut = 2
    }

    /// A method, in the modified UTF-8 of class files.
    public struct Method: Sendable, Equatable {
        /// The class with its package, such as `java/lang/Thread`.
        public var type: ArraySlice<UInt8>
        /// The name without parameters.
        public var name: ArraySlice<UInt8>
        /// The name of the source file; empty if it is unknown.
        public var file: ArraySlice<UInt8>
    }

    /// The registers with which native code goes on that has called a method.
    public struct Caller: Sendable, Equatable {
        /// The address at which it goes on.
        public var programCounter: UInt64
        /// The stack pointer.
        public var stackPointer: UInt64
        /// The frame pointer.
        public var framePointer: UInt64
    }

    /// An element of a stack.
    public enum Frame: Sendable, Equatable {
        /// A call of a method.
        ///
        /// - Parameters:
        ///   - method: Index into ``SnapshotJava/methods``.
        ///   - line: The line in the method's file; nil if it is unknown.
        ///   - address: The address at which the code goes on, be it compiled or the interpreter's.
        case call(method: Int, line: Int?, address: UInt64)
        /// Native code, which called the previous method.
        case native(Caller)
    }

    /// The version, such as 17; nil if it is unknown.
    public var version: Int?
    /// The extent to which the stacks could be read.
    public var reading: Reading
    /// The methods on all stacks.
    public var methods: [Method] = []
    /// The frames by thread, innermost first.
    public var stacks: [Int32: [Frame]] = [:]
    /// The threads that wait for the lock of an object, each with the one that has it.
    public var lockOwners: [Int32: Int32] = [:]
}
