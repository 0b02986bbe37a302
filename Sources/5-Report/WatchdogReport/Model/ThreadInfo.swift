// SPDX-License-Identifier: Apache-2.0

/// One thread of a report.
public struct ThreadInfo: Codable, Equatable, Sendable {
    /// The kernel's thread ID.
    public var id: Int?
    /// True on the faulting thread, absent on the others.
    public var triggered: Bool?
    /// The thread's name.
    public var name: String?
    /// The dispatch queue of the thread; absent in our reports, because it cannot be read from outside.
    public var queue: String?
    /// The registers; only the faulting thread has them.
    public var threadState: ThreadState?
    /// The stack, innermost frame first.
    public var frames: [FrameInfo]

    /// Creates the values.
    public init(
        id: Int?, triggered: Bool? = nil, name: String? = nil, queue: String? = nil, threadState: ThreadState? = nil,
        frames: [FrameInfo] = []
    ) {
        self.id = id
        self.triggered = triggered
        self.name = name
        self.queue = queue
        self.threadState = threadState
        self.frames = frames
    }

    /// Decodes a thread.
    ///
    /// Apple omits the frames if the stack could not be read; such a thread has an empty list.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decodeIfPresent(Int.self, forKey: .id)
        triggered = try container.decodeIfPresent(Bool.self, forKey: .triggered)
        name = try container.decodeIfPresent(String.self, forKey: .name)
        queue = try container.decodeIfPresent(String.self, forKey: .queue)
        threadState = try container.decodeIfPresent(ThreadState.self, forKey: .threadState)
        frames = try container.decodeIfPresent([FrameInfo].self, forKey: .frames) ?? []
    }
}
