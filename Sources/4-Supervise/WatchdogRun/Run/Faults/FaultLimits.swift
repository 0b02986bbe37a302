// SPDX-License-Identifier: Apache-2.0

import WatchdogBase
import WatchdogLaunch
import WatchdogLinux
import WatchdogPolicy

/// The faults that limit the app during its whole launch, and the mechanisms that enforce them.
///
/// Isolation: the loop's thread.
struct FaultLimits {
    /// Whether any limit is set on the app's cgroup.
    private(set) var needsCgroup = false
    /// The mechanism of each limit, for messages.
    private(set) var means: [Fault.Kind: String] = [:]
    private var quota: CPUQuota?
    /// Throttles the app's disks; nil without a slow disk.
    private(set) var throttle: DiskThrottle?

    /// Adds the limits to a launch.
    ///
    /// - Throws: ``RunError`` if this machine or user does not permit one of the faults.
    init(_ faults: [Fault], of launch: inout LaunchConfiguration, on host: Host) throws(RunError) {
        for fault in faults {
            guard means[fault.kind] == nil || !fault.kind.isLimit else { continue }
            switch fault.kind {
            case .memory(let bytes): limitMemory(to: bytes, of: &launch, on: host)
            case .cpuQuota(let percent): try limitCPU(to: percent, of: &launch, on: host)
            case .ioSlow: try slowDisks(fault.kind, on: host)
            case .clock, .stop, .cpu, .diskFull, .mainHang, .network, .killWatchdogd: break
            }
        }
    }

    private mutating func limitMemory(to bytes: UInt64, of launch: inout LaunchConfiguration, on host: Host) {
        if host.cgroupParent?.enable(["memory"]).contains("memory") == true {
            launch.cgroupLimits.memory = min(bytes, launch.cgroupLimits.memory ?? .max)
            needsCgroup = true
            means[.memory(bytes)] = "a limit of its cgroup"
        } else {
            // Since Linux 4.7, RLIMIT_DATA counts all private writable memory: getrlimit(2).
            launch.attributes.limits.append(ResourceLimit(.data, soft: bytes, hard: bytes))
            means[.memory(bytes)] = "RLIMIT_DATA of each process"
        }
    }

    private mutating func limitCPU(
        to percent: Int, of launch: inout LaunchConfiguration, on host: Host
    ) throws(RunError) {
        let kind = Fault.Kind.cpuQuota(percent: percent)
        let share = Double(percent) / 100
        if host.cgroupParent?.enable(["cpu"]).contains("cpu") == true {
            let quota = Duration.milliseconds(10 * percent)
            launch.cgroupLimits.cpuQuota = min(quota, launch.cgroupLimits.cpuQuota ?? quota)
            needsCgroup = true
            means[kind] = "a limit of its cgroup"
            return
        }
        guard quota == nil else {
            throw RunError.usage("--fault \(kind): there is already a cpu-quota; leave one out")
        }
        do throws(CPUQuota.Unavailable) {
            quota = try CPUQuota(share: share, onlyOfVersionOne: true)
            means[kind] = "a cgroup of version 1"
        } catch {
            throw RunError.unavailable("--fault \(kind): cannot limit the CPU: \(error)")
        }
    }

    private mutating func slowDisks(_ kind: Fault.Kind, on host: Host) throws(RunError) {
        if throttle == nil {
            let isUnified = host.cgroupParent?.enable(["io"]).contains("io") == true
            do throws(DiskThrottle.Unavailable) {
                throttle = try DiskThrottle(isUnified: isUnified)
            } catch {
                throw RunError.unavailable("--fault \(kind): cannot slow disks down: \(error)")
            }
            if isUnified { needsCgroup = true }
        }
        means[kind] = throttle?.means
    }

    /// Applies the limits that can be set only on running processes.
    ///
    /// - Returns: the error; nil if all processes are limited.
    func hold(_ processes: () -> [Int32]) -> String? {
        guard quota != nil || throttle?.needsMoves == true else { return nil }
        var moved: Set<Int32> = []
        // Repeat: a process that is not moved yet can fork another one.
        for _ in 0..<8 {
            let others = processes().filter { !moved.contains($0) }
            if others.isEmpty { break }
            for process in others {
                do throws(LinuxError) {
                    try quota?.move(process)
                    try throttle?.move(process)
                } catch  where error.errno != .noSuchProcess {
                    return "\(error)"
                } catch {
                    // The process has ended.
                }
                moved.insert(process)
            }
        }
        return nil
    }
}
