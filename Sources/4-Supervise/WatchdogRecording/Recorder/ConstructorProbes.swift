// SPDX-License-Identifier: Apache-2.0

import CRecorder
import Glibc
import WatchdogCapture
import WatchdogLinux

/// Checks the right to time constructors, and finds the constructors of a stopped program.
enum ConstructorProbes {
    private static let mapsBytes = 8 << 20
    private static let mappingLimit = 1 << 16

    /// Checks, before the launch, that constructors can be timed.
    ///
    /// - Parameter attempts: the results of the rungs so far.
    /// - Returns: the number of the kernel's uprobe events.
    static func check(
        _ request: RecordingRequest, _ rung: Rung, _ attempts: [RungAttempt]
    ) throws(RecordingError) -> UInt32 {
        guard !Privileges.areMarked(request.executable) else {
            throw refusal(
                "\(request.executable) raises its privileges (set-user-ID or file capabilities)",
                "record it without --constructors")
        }
        guard rung <= .b else {
            let refused = attempts.first { $0.rung == .b }
            throw refusal(refused?.reason ?? "they need rung A or B", refused?.remedy ?? "run as root")
        }
        let text = Procfs.text("/sys/bus/event_source/devices/uprobe/type", limit: 16)
        guard let type = text?.split(separator: "\n").first.flatMap({ UInt32($0) }) else {
            throw refusal("the kernel has no uprobes", "use one with CONFIG_UPROBE_EVENTS")
        }
        // The kernel checks permissions before the path, so an invalid path tests the permission alone.
        var id: UInt64 = 0
        let event = wd_record_uprobe_open(type, "/", 0, 0, &id)
        let error = Errno(rawValue: errno)
        if event >= 0 { close(event) }
        guard event >= 0 || error != .permissionDenied && error != .notPermitted else {
            throw refusal("\(LinuxError("open a uprobe", error))", "run as root")
        }
        return type
    }

    private static func refusal(_ reason: String, _ remedy: String) -> RecordingError {
        RecordingError("constructors cannot be timed here: \(reason); \(remedy)", exitCode: 77)
    }

    /// The constructors of a stopped process that is about to run them; nil if its memory cannot be read.
    static func search(_ process: Int32) -> ConstructorSearch? {
        guard let text = Procfs.read("/proc/\(process)/maps", limit: mapsBytes),
            let mappings = MapsParser.parse(text[...], limit: mappingLimit),
            let memory = MemoryReader(process: process)
        else { return nil }
        let segments = mappings.filter(\.isFile).map { mapping in
            MappedSegment(
                range: mapping.start..<mapping.end, offset: mapping.offset, inode: mapping.inode, path: mapping.path,
                isExecutable: mapping.isExecutable)
        }
        return ConstructorSearch(segments, memory: memory)
    }

    /// The path of a segment's mapped file in map_files, which stays valid if its own path changes:
    /// proc_pid_map_files(5).
    static func path(of segment: MappedSegment, _ process: Int32) -> String {
        let begin = String(segment.range.lowerBound, radix: 16)
        return "/proc/\(process)/map_files/\(begin)-\(String(segment.range.upperBound, radix: 16))"
    }
}
