// SPDX-License-Identifier: Apache-2.0

/// A function that a library or the program runs before `main`: one of its `DT_PREINIT_ARRAY`, `DT_INIT` and
/// `DT_INIT_ARRAY`.
public struct LaunchConstructor: Equatable, Sendable {
    /// The path of its file, from the kernel.
    public var object: String
    /// Its name; nil without a symbol.
    public var function: String?
    /// Its address minus the load address of its file.
    public var offset: UInt64
    /// Whether it is in the program itself and not in a library.
    public var isOwn: Bool
    /// The start, relative to the request.
    public var begin: Duration
    /// The end, relative to the request: the start of the next one, of the program's first instruction, or of `main`.
    public var end: Duration
    /// The main thread's use of the time; nil if the rung does not show it.
    public var time: ThreadTime?
    /// Whether it ended; false if the program was killed, exited or was released in it.
    public var isComplete: Bool

    /// The duration.
    public var wall: Duration { end - begin }

    /// Creates a constructor.
    public init(
        object: String, function: String? = nil, offset: UInt64, isOwn: Bool, begin: Duration, end: Duration,
        time: ThreadTime? = nil, isComplete: Bool = true
    ) {
        self.object = object
        self.function = function
        self.offset = offset
        self.isOwn = isOwn
        self.begin = begin
        self.end = end
        self.time = time
        self.isComplete = isComplete
    }
}
