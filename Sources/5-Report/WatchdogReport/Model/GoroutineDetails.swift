// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// The goroutines of a Go program in a report.
public struct GoroutineDetails: Codable, Equatable, Sendable {
    /// Go's version, such as `go1.22.10`; nil if unknown.
    public var version: String?
    /// How many goroutines exist, those of the runtime included.
    public var count: Int
    /// How many of them run, could run, or are in a system call.
    public var activeCount: Int
    /// The app's goroutines, goroutine 1 first, which runs `main`; not all of a crowd.
    public var shown: [GoroutineInfo]
}

/// A goroutine in a report, which stands for others with the same state and stack.
public struct GoroutineInfo: Codable, Equatable, Sendable {
    /// The ID in Go's own messages.
    public var id: Int
    /// What it does in Go's words, such as `sync.Mutex.Lock`, `chan receive` or `running`.
    public var state: String
    /// The least time for which it has waited; nil if unknown.
    public var waitNanoseconds: UInt64?
    /// The kernel's ID of the thread on which it runs, whose stack is the goroutine's; nil if there is none.
    public var thread: Int?
    /// The IDs of those that it stands for; nil without any.
    public var others: [Int]?
    /// The descriptors for which it and those others wait; nil if there are none, or if they are unknown.
    public var descriptors: [Int]?
    /// The stack, innermost frame first.
    public var frames: [FrameInfo]
    /// The method that found each frame, in the order of ``frames``.
    public var trust: [Frame.Trust]

    /// `Goroutine 7 and 2 more [chan receive]`, `Goroutine 7 [IO wait, fd 5]`.
    package var title: String {
        "Goroutine\(others?.count == 1 ? "s" : "") \(words)"
    }

    /// `7 and 2 more [chan receive]`.
    package var words: String {
        let others = others ?? []
        let more =
            others.isEmpty ? "" : others.count == 1 ? " and \(others[0])" : " and \(others.count) more"
        return "\(id)\(more) [\(state)\(descriptorWords)\(waitWords)]"
    }

    private var descriptorWords: String {
        guard let descriptors, let first = descriptors.first else { return "" }
        let shown = descriptors.prefix(4).map(String.init).joined(separator: ", ")
        return descriptors.count == 1 ? ", fd \(first)" : ", fds \(shown)\(descriptors.count > 4 ? ", …" : "")"
    }

    private var waitWords: String {
        guard let waitNanoseconds else { return "" }
        return ", for \(waitNanoseconds / 1_000_000_000) s or more"
    }
}

extension GoroutineInfo {
    /// Its stack, with the names that `images` knows for the modules.
    func stack(_ images: ImageOrigins) -> ReportStack {
        let thread = ThreadInfo(id: nil, name: title, frames: frames)
        return ReportStack(id, thread, nil, images: images, isFaulting: false)
    }
}

extension GoroutineDetails {
    /// All stacks, each with its goroutine, in the order of ``shown``.
    package func stacks(_ body: ReportBody) -> [(goroutine: GoroutineInfo, stack: ReportStack)] {
        let images = ImageOrigins(body.usedImages, executable: body.procPath)
        return shown.map { ($0, $0.stack(images)) }
    }
}
