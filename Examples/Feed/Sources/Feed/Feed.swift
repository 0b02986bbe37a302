// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Watchdog

/// Shows headlines from a server, whose port comes with the event `reload`.
///
/// It loads them on the main actor, as the first version did, or with `--repaired` on another queue.
@main
final class Feed: LaunchableApplication {
    private let isRepaired = CommandLine.arguments.contains("--repaired")

    func application(_ application: Application, handle event: Application.Event) {
        guard event.kind == "reload", let port = UInt16(event.payload) else { return }
        if isRepaired {
            DispatchQueue.global().async {
                let headlines = loadFeed(from: port)
                DispatchQueue.main.async { show(headlines) }
            }
        } else {
            show(loadFeed(from: port))
        }
    }
}

func show(_ headlines: String) { print("Feed: \(headlines.utf8.count) bytes") }

/// Reads everything that the server sends.
@inline(never)
func loadFeed(from port: UInt16) -> String {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(connection) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard result == 0 else { return "" }
    var (feed, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4_096))
    while true {
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return String(decoding: feed, as: UTF8.self) }
        feed += buffer.prefix(count)
    }
}
