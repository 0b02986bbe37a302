// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Requests more time from a supervisor while an app is being installed, which is not part of its launch.
///
/// The app's library cannot do that, because it sends nothing before the launch. So an sd_notify(3) datagram requests
/// the allowance of a launch every second.
///
/// Isolation: one thread.
struct InstallationNotice {
    private let timer: any DispatchSourceTimer

    /// Starts the notice.
    ///
    /// - Parameter launch: The allowance of the launch after the installation.
    init(leaving launch: Duration) {
        let address = getenv("NOTIFY_SOCKET").map { String(cString: $0) } ?? ""
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "installation"))
        // SAFETY: only the timer's serial queue touches it.
        nonisolated(unsafe) var count = 0
        timer.setEventHandler {
            count += 1
            let microseconds = launch.components.seconds * 1_000_000 + launch.components.attoseconds / 1_000_000_000_000
            Self.send("EXTEND_TIMEOUT_USEC=\(microseconds)\nPROGRESS=installing \(count)", to: address)
        }
        timer.schedule(deadline: .now(), repeating: .seconds(1))
        timer.activate()
        self.timer = timer
    }

    /// Stops the requests; the allowance of the launch starts here.
    func end() { timer.cancel() }

    /// Sends a datagram without waiting; a missing receiver is no error.
    private static func send(_ text: String, to path: String) {
        var name = Array(path.utf8)
        var address = sockaddr_un()
        guard name.count > 1, name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // A name in the abstract namespace: unix(7).
        if name[0] == UInt8(ascii: "@") { name[0] = 0 } else { name.append(0) }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = sendto(
                    descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL), $0, length)
            }
        }
    }
}
