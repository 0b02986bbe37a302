// SPDX-License-Identifier: Apache-2.0

/// A function that a library or the program runs before `main`: one of its `DT_PREINIT_ARRAY`, `DT_INIT` and
/// `DT_INIT_ARRAY`.
public struct LaunchConstructor: Equatable, Sendable {
    /// The path by which the kernel knows its file.
    public var object: String
    /// Its name; nil if the file does not tell.
    public var function: String?
    /// Its address minus the load address of its file.
    public var offset: UInt64
    /// Whether the program itself has it, not one of its libraries.
    public var isOwn: Bool
    /// When it begins, counted from the request.
    public var begin: Duration
    /// When the next one, the program's first instruction or `main` begins, counted from the request.
    public var end: Duration
    /// How the main thread spent it; nil where the rung does not tell.
    public var time: ThreadTime?
    /// Whether it ended; false if the program was killed, exited or was let go in it.
    public var isComplete: Bool

    /// From its beginning to its end.
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
