// SPDX-License-Identifier: Apache-2.0

public import WatchdogBase
package import WatchdogLaunch
package import WatchdogLinux

/// Where a daemon or a run leaves its metrics, besides the control interface.
public struct MetricsSettings: Hashable, Sendable {
    /// The TCP address at which they are served; nil if they are not.
    public var address: NetworkAddress?
    /// The file into which they are written; nil if they are not.
    public var file: String?
    /// The file that keeps the counts of a run for the next one; nil if they end with the run.
    public var counts: String?

    /// Creates settings.
    public init(address: NetworkAddress? = nil, file: String? = nil) {
        self.address = address
        self.file = file
    }

    /// Listens; nil without an address.
    package func listen() throws(RunError) -> OwnedDescriptor? {
        guard let address else { return nil }
        do throws(LinuxError) {
            return try TextServer.listen(on: address)
        } catch {
            switch error.errno {
            case .permissionDenied: throw .notPermitted("--metrics: \(error); use a port above 1023")
            default: throw .unavailable("--metrics: \(error)")
            }
        }
    }

    /// Checks in advance whether the file can be written.
    func checkFile() throws(RunError) {
        guard let file else { return }
        do throws(LinuxError) {
            try AtomicFile.check(file)
        } catch {
            throw .cannotCreate("--metrics-file: \(error)")
        }
    }

    /// Checks in advance whether the counts can be kept.
    package func checkCounts() throws(RunError) {
        guard let counts else { return }
        do throws(LinuxError) {
            try AtomicFile.check(counts)
        } catch {
            throw .cannotCreate("--keep-counts: \(error)")
        }
    }
}
