// SPDX-License-Identifier: Apache-2.0

import CLinux
import CSystemd
import Glibc

/// The machine and operating system that this process runs on.
public enum Machine {
    /// The host name.
    public static var hostName: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            guard let base = buffer.baseAddress, gethostname(base, buffer.count) == 0 else { return "localhost" }
            buffer[buffer.count - 1] = 0
            return String(cString: base)
        }
    }

    /// The kernel release, such as `6.1.0-18-amd64`.
    public static var kernelRelease: String { Procfs.line("/proc/sys/kernel/osrelease") ?? "unknown" }

    /// The system's name and version, such as "Debian GNU/Linux 12 (bookworm)": os-release(5).
    public static var systemName: String {
        for path in ["/etc/os-release", "/usr/lib/os-release"] {
            let text = Procfs.read(path) ?? []
            if let name = prettyName(osRelease: String(decoding: text, as: UTF8.self)) { return name }
        }
        return "Linux"
    }

    /// The manufacturer's name for the machine, such as "KVM" or "ThinkPad X1"; nil if unknown.
    public static var hardwareModel: String? {
        let paths = ["/sys/class/dmi/id/product_name", "/sys/firmware/devicetree/base/model"]
        for path in paths {
            guard let line = Procfs.line(path, limit: 256) else { continue }
            let name = line.filter { !$0.isWhitespace || $0 == " " }.prefix { $0 != "\0" }
            if !name.isEmpty { return String(name) }
        }
        return nil
    }

    /// The model of the first CPU, such as "Intel(R) Xeon(R)"; "unknown" where the kernel does not name it.
    public static var processorModel: String {
        let text = String(decoding: Procfs.read("/proc/cpuinfo", limit: 4096) ?? [], as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
        return line?.split(separator: ":", maxSplits: 1).last.map { String($0.drop { $0 == " " }) } ?? "unknown"
    }

    /// The number of CPUs that are online.
    public static var processorCount: Int { max(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 1) }

    /// The maximum number of processes and threads: proc(5), `pid_max` and `threads-max`.
    public static var maximumProcesses: UInt64 {
        let limits = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"].compactMap { Procfs.line($0) }
        return limits.compactMap { UInt64($0) }.min() ?? 32_768
    }

    /// The size of the machine's memory in bytes.
    public static var memoryBytes: UInt64 {
        UInt64(max(sysconf(Int32(_SC_PHYS_PAGES)), 0)) * UInt64(max(sysconf(Int32(_SC_PAGESIZE)), 0))
    }

    /// The time since boot, including suspension.
    public static var uptime: Duration { .nanoseconds(readNanoseconds(of: CLOCK_BOOTTIME)) }

    /// The ID of this boot; process IDs and start times are meaningless in another one.
    public static let bootIdentifier = Procfs.line("/proc/sys/kernel/random/boot_id") ?? "unknown"

    /// An ID of this machine that never changes and may be published: 32 hexadecimal digits.
    ///
    /// Derived from `/etc/machine-id`, which must not leave the machine: machine-id(5).
    public static var identifier: String? {
        var application = sd_id128_t()
        application.bytes = (
            0x5b, 0x1f, 0x9c, 0x07, 0x6d, 0x2e, 0x4b, 0x2a, 0x9e, 0x61, 0xd4, 0x0c, 0x83, 0x75, 0xfa, 0x18
        )
        var identifier = sd_id128_t()
        guard sd_id128_get_machine_app_specific(application, &identifier) >= 0 else { return nil }
        return withUnsafeBytes(of: &identifier.bytes) { bytes in
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    static func prettyName(osRelease text: String) -> String? {
        let key = "PRETTY_NAME="
        for line in text.split(separator: "\n") where line.hasPrefix(key) {
            var value = line.dropFirst(key.count)
            guard let quote = value.first else { return nil }
            guard quote == "\"" || quote == "'" else { return String(value) }
            value = value.dropFirst()
            var result = ""
            var isEscaped = false
            for character in value {
                if isEscaped || (character != quote && character != "\\") {
                    result.append(character)
                    isEscaped = false
                } else if character == quote {
                    break
                } else {
                    isEscaped = true
                }
            }
            return result.isEmpty ? nil : result
        }
        return nil
    }
}

extension Machine {
    /// Why nothing can be supervised here; nil if it can.
    ///
    /// One sentence without a period that names a system call that the kernel or a container's filter refuses, or what
    /// is missing in `/proc`: without it, an app's processes cannot be found, judged or killed. Call it before this
    /// process has a second thread.
    public static var obstacle: String? {
        if let call = wd_find_refused_call() {
            let error = Errno.current
            return "the kernel or the container's seccomp profile refuses \(String(cString: call))(2): \(error)"
        }
        let other = "/proc belongs to another pid namespace; mount one for this namespace: mount -t proc proc /proc"
        guard let shown = SymbolicLink.target("/proc/self") else {
            let isMounted = access("/proc/version", F_OK) == 0
            return isMounted ? other : "/proc is not mounted; mount it: mount -t proc proc /proc"
        }
        return shown == "\(getpid())" ? nil : other
    }
}
