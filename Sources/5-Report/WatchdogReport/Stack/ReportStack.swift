// SPDX-License-Identifier: Apache-2.0

public import WatchdogVerdict

/// A thread's stack for readers: Apple's keys combined with the Linux details.
public struct ReportStack: Equatable, Sendable {
    /// The thread's index in the report.
    public let index: Int
    /// The kernel's thread ID.
    public let id: Int?
    /// The name of the thread or its queue.
    public let name: String?
    /// Whether the report is about this thread.
    public let isFaulting: Bool
    /// The kernel's facts about the thread; nil in foreign reports.
    public let details: ThreadDetails?
    /// The calls, innermost first, asynchronous callers last.
    public let calls: [CallSite]
    /// The stack pointer, if the report has the thread's registers.
    let stackPointer: UInt64?

    /// The app's own calls; if there are none, interpreted ones, those of packages first; or else those of libraries.
    ///
    /// Frames found by scanning may be stale and are used only as a last resort.
    public var decisive: [CallSite] {
        let choices: [(CallSite) -> Bool] = [
            { $0.origin == .application }, { $0.language != nil && $0.origin == .library }, { $0.language != nil },
            { $0.origin == .library },
        ]
        for isChosen in choices {
            let own = calls.filter(isChosen)
            let sure = own.filter { $0.trust != .scan }
            if !own.isEmpty { return sure.isEmpty ? own : sure }
        }
        return []
    }

    /// The calls of ``decisive`` with names; if none has one, all of them.
    public var named: [CallSite] {
        let named = decisive.filter { $0.function != nil }
        return named.isEmpty ? decisive : named
    }

    /// The system call in which the thread is blocked; nil outside one.
    public var systemCall: SystemCall? { SystemCall.blocking(details?.syscall) }

    /// `Thread 2 (downloader)`.
    public var title: String { "Thread \(index)" + (name.map { " (\($0))" } ?? "") }

    init(_ index: Int, in body: ReportBody) { self.init(index, in: body, body.imageOrigins) }

    fileprivate init(_ index: Int, in body: ReportBody, _ images: ImageOrigins) {
        let details = body.linux.flatMap { $0.threads.indices.contains(index) ? $0.threads[index] : nil }
        self.init(
            index, body.threads[index], details, images: images, isFaulting: index == body.faultingThread)
    }

    /// - Parameters:
    ///   - index: the index of the thread.
    ///   - thread: its part in Apple's keys.
    ///   - details: its Linux details, if they are of the same thread.
    ///   - images: the images of the report.
    ///   - isFaulting: whether the report is about this thread.
    init(
        _ index: Int, _ thread: ThreadInfo, _ details: ThreadDetails?, images: ImageOrigins, isFaulting: Bool
    ) {
        let own = details?.id == thread.id ? details : nil
        self.index = index
        id = thread.id
        name = thread.name ?? thread.queue
        self.isFaulting = isFaulting
        self.details = own
        let registers = thread.threadState?.registers
        stackPointer = (registers?["rsp"] ?? registers?["sp"])?.value
        let trust = own?.trust ?? []
        let asynchronous = own?.asynchronousFrames ?? []
        calls =
            thread.frames.enumerated().map { number, frame in
                CallSite(
                    number, frame, in: images,
                    trust: trust.indices.contains(number) ? trust[number] : nil)
            }
            + asynchronous.enumerated().map { number, frame in
                CallSite(
                    thread.frames.count + number, frame, in: images, trust: .asynchronous)
            }
    }
}

extension ReportBody {
    fileprivate var imageOrigins: ImageOrigins { ImageOrigins(usedImages, executable: procPath) }
}

extension Report {
    /// All stacks in the order of ``ReportBody/threads``.
    public var stacks: [ReportStack] {
        let images = body.imageOrigins
        return body.threads.indices.map { ReportStack($0, in: body, images) }
    }

    /// The stack of the thread to blame; nil if the report names none.
    public var faultingStack: ReportStack? {
        body.threads.indices.contains(body.faultingThread) ? ReportStack(body.faultingThread, in: body) : nil
    }

    /// The watched event; in foreign reports that of the termination reasons, or else the exception type.
    public var event: String {
        if let event = metadata.linux?.event ?? body.linux?.allowance.event { return event }
        let mark = "WatchdogEvent: "
        if let line = body.termination?.reasons?.first(where: { $0.hasPrefix(mark) }) {
            return String(line.dropFirst(mark.count))
        }
        return body.exception.type
    }
}

/// The images of a report with their origins, cached because thousands of frames use them.
struct ImageOrigins {
    private let images: [(ImageInfo, CodeOrigin)]

    /// - Parameters:
    ///   - images: the images that frames refer to.
    ///   - executable: the path of the process's executable.
    init(_ images: [ImageInfo], executable: String?) {
        self.images = images.map { ($0, CodeOrigin(of: $0, executable: executable)) }
    }

    /// An image by its index; ``ImageInfo/absent`` if there is none.
    subscript(index: Int) -> (image: ImageInfo, origin: CodeOrigin) {
        images.indices.contains(index) ? images[index] : (.absent, .unknown)
    }
}
