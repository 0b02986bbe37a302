// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import WatchdogBase
import WatchdogDaemon
import WatchdogLinux

/// Where a daemon leaves its metrics.
struct MetricsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve Prometheus metrics at http://ADDR:PORT/metrics; PORT alone listens on localhost.",
            valueName: "addr:port"))
    var metrics: String?

    @Option(
        help: ArgumentHelp(
            "Write metrics to this file every 15 s for node_exporter; its name must end in .prom.",
            valueName: "file"),
        completion: .file())
    var metricsFile: String?

    func validate() throws {
        _ = try settings()
    }

    func settings() throws -> MetricsSettings {
        // node_exporter reads no other names.
        if let metricsFile, !metricsFile.hasSuffix(".prom") || metricsFile.hasSuffix("/.prom") {
            throw ValidationError(
                "--metrics-file '\(metricsFile)' does not end in .prom; node_exporter reads only NAME.prom")
        }
        guard let metrics else { return MetricsSettings(file: metricsFile) }
        return MetricsSettings(address: try Self.address(metrics), file: metricsFile)
    }

    /// A port alone is on localhost: nothing is served to the network by accident.
    static func address(_ text: String) throws -> NetworkAddress {
        let isPort = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        do throws(NetworkAddress.SyntaxError) {
            let address = try NetworkAddress(parsing: isPort ? "localhost:\(text)" : text)
            if case .tcp = address { return address }
        } catch {
            throw ValidationError("--metrics: \(error); use PORT, ADDR:PORT or '*:PORT'")
        }
        throw ValidationError("--metrics '\(text)' is not a TCP address; use PORT, ADDR:PORT or '*:PORT'")
    }
}
