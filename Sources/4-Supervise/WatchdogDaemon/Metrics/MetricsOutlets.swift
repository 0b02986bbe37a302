// SPDX-License-Identifier: Apache-2.0

import WatchdogLaunch
package import WatchdogLinux
import WatchdogMetrics

/// Where metrics go besides the control interface: a file and a TCP port.
///
/// Isolation: the loop's thread.
package final class MetricsOutlets {
    private let file: PeriodicFile?
    private let server: TextServer?
    /// Clients of the server that wait for the text.
    private var requests: IOSource?

    /// Starts what is configured.
    ///
    /// - Parameter listener: of the server; nil without one.
    package init(
        _ settings: MetricsSettings, _ listener: OwnedDescriptor?, of source: any MetricsSource
    ) throws(LinuxError) {
        file = try settings.file.map { path throws(LinuxError) in
            // The exporter is another user, and may read it.
            try PeriodicFile(path, of: source, "metrics", mode: 0o644) { [unowned source] write in
                source.metrics.collect { metrics in write { [text = metrics.text] in text } }
            }
        }
        guard let listener else {
            server = nil
            return
        }
        let mailbox = try Mailbox<Void>()
        server = try TextServer(listener, path: "/metrics", contentType: ExpositionText.contentType) {
            mailbox.post(())
        }
        requests = try source.host.loop.receive(from: mailbox) { [weak self, unowned source] _ in
            source.metrics.collect { self?.server?.provide($0.text) }
        }
    }

    /// Ends the server; the file stays.
    package func stop() { server?.stop() }
}
