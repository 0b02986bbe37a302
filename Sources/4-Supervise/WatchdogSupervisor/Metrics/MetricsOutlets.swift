// SPDX-License-Identifier: Apache-2.0

import WatchdogLinux
import WatchdogMetrics

/// Where metrics go besides the control interface: a file and a TCP port.
///
/// Isolation: the loop's thread.
final class MetricsOutlets {
    private let file: MetricsFile?
    private let server: TextServer?

    /// Starts what is configured.
    ///
    /// - Parameter listener: of the server; nil without one.
    init(_ settings: MetricsSettings, _ listener: OwnedDescriptor?, of source: any MetricsSource) throws(LinuxError) {
        file = try settings.file.map { path throws(LinuxError) in try MetricsFile(path, of: source) }
        let host = source.host
        server = try listener.map { listener throws(LinuxError) in
            try TextServer(listener, path: "/metrics", contentType: ExpositionText.contentType) {
                [mailbox = host.mailbox] in mailbox.post(.metricsWanted)
            }
        }
        host.onMetricsWanted = { [weak self, unowned source] in
            source.metrics.collect { self?.server?.provide($0.text) }
        }
    }

    /// Ends the server; the file stays.
    func stop() { server?.stop() }
}
