// SPDX-License-Identifier: Apache-2.0

/// A thread's position in the kernel, in words that continue `blocked 3.00 s …`.
struct WaitingPlace {
    /// `in recvfrom (fd 7)`.
    let text: String
    /// ` in recvfrom`, or empty.
    let brief: String
    /// Whether the position is known.
    let isKnown: Bool

    init(_ evidence: HangEvidence) {
        let channel = evidence.waitChannel.flatMap(Self.kernelFunction)
        let map = evidence.isWaitingForMemoryMap ? MemoryMapWait.subject : nil
        let frozen = evidence.isOnFrozenFileSystem ? FrozenFileSystem.words : nil
        let suffix = (map ?? frozen).map { " (\($0))" } ?? channel.map { " (wait channel \($0))" } ?? ""
        switch evidence.syscall.flatMap(SystemCall.position(in:)) {
        case .inside(let call):
            let name = call.name ?? "system call \(call.number)"
            let file = evidence.subject ?? WaitText(evidence.waits).subject ?? call.descriptor.map { "fd \($0)" }
            let subject = map ?? (frozen == nil ? file : [file, frozen].compactMap(\.self).joined(separator: ", "))
            let isNamed = evidence.isWaitingForProcess || frozen != nil
            if call.isRestart {
                text = "in \(name), a sleep resumed after an interruption\(suffix)"
            } else if let subject {
                text = "in \(name) (\(subject))\(evidence.state == "D" && !isNamed ? suffix : "")"
            } else {
                text = "in \(name)\(call.name == nil ? suffix : "")"
            }
            brief = " in \(name)"
            isKnown = true
        case .outside:
            text = "outside any system call\(suffix)"
            brief = ""
            isKnown = true
        case .running:
            text = "until just before the sample, then runnable"
            brief = ""
            isKnown = false
        case nil:
            text = channel.map { "in the kernel at \($0)" } ?? "on something unknown"
            brief = channel.map { " at \($0)" } ?? ""
            isKnown = channel != nil
        }
    }

    /// Parses the text of `wchan`: a kernel function's name, or `0` if the thread runs or the name is hidden.
    private static func kernelFunction(_ text: String) -> String? {
        let name = text.prefix(64)
        guard !name.isEmpty, name != "0",
            name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "_.".contains($0)) })
        else { return nil }
        return String(name)
    }
}
