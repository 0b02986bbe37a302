// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLinux

extension LaunchRecorder {
    /// The maximum number of files without probes in a note.
    private static let gapLimit = 8
    /// The longest stop for setting probes; a probe usually takes half a millisecond.
    private static let patience = Duration.seconds(5)
    /// The maximum number of probes in a recording: each is a descriptor, and the kernel takes 80 ms to remove it.
    private static var probeLimit: Int {
        let descriptors = (try? ResourceLimit.current(.openFiles).soft) ?? 0
        return min(2 * ConstructorSearch.limit, Int(clamping: descriptors) / 2)
    }

    /// Whether a hit of the dynamic linker's breakpoint means that all objects are relocated: glibc calls the function
    /// twice, musl once.
    func isRelocated(_ boundary: LaunchBoundary) -> Bool {
        guard boundary == .debugState, let execution = log.executions.last else { return false }
        let program = log.executions.count - 1
        let hits = log.stops.count { $0.boundary == .debugState && $0.program == program }
        return hits == (execution.image?.runtime == "musl" ? 1 : 2)
    }

    /// Records that the program's constructors cannot be found; a nil `image` means that its memory cannot be read.
    func noteUntimed(_ image: ProgramImage?) {
        let reason =
            switch image?.kind {
            case .static: "a static program does not list them"
            case .dynamic: "its dynamic linker does not tell when it calls them"
            default: "its memory cannot be read"
            }
        untimed.append("The constructors are not timed: \(reason).")
    }

    /// Sets a probe at each constructor; the process is stopped before the first one.
    func probeConstructors() {
        guard let type = probeType, let events, let program = log.executions.last else { return }
        guard !Privileges.areMarked("/proc/\(log.process)/exe") else {
            let path = program.path.singleLine(limit: 512)
            untimed.append(
                "The constructors are not timed: \(path) raises its privileges (set-user-ID or file capabilities).")
            return
        }
        let deadline = Instant.now() + Self.patience
        guard let search = ConstructorProbes.search(log.process) else { return noteUntimed(nil) }
        isSearched = true
        let number = log.executions.count - 1
        var gaps = search.gaps.map { (path: $0.path, reason: $0.reason) }
        let most = Self.probeLimit
        for (done, place) in search.places.enumerated() {
            let index = log.probes?.count ?? 0
            guard index < most else {
                untimed.append("\(search.places.count - done) constructors are not timed: there are too many.")
                break
            }
            guard Instant.now() < deadline else {
                untimed.append(
                    "\(search.places.count - done) constructors are not timed: the kernel took too long to set probes.")
                break
            }
            do throws(LinuxError) {
                try events.addProbe(
                    index, type: type, in: ConstructorProbes.path(of: place.segment, log.process),
                    at: place.fileOffset, process: log.process)
                let probe = LaunchLog.Probe(
                    program: number, path: place.segment.path, inode: place.segment.inode, offset: place.offset)
                log.probes?.append(probe)
            } catch {
                guard gaps.last?.path != place.segment.path else { continue }
                gaps.append((place.segment.path, "\(error)"))
            }
        }
        for gap in gaps.prefix(Self.gapLimit) {
            untimed.append("Constructors of \(gap.path) are not timed: \(gap.reason).".singleLine(limit: 1_024))
        }
        let more = gaps.count - Self.gapLimit
        if more > 0 { untimed.append("Constructors of \(more) more \(more == 1 ? "file" : "files") are not timed.") }
    }
}
