// SPDX-License-Identifier: Apache-2.0

import Glibc
import WatchdogBase
import WatchdogLinux

/// A recently free TCP port of localhost.
func freePort() throws -> UInt16 {
    for _ in 0..<20 {
        let port = UInt16.random(in: 20_000..<32_000)
        guard let listener = try? TextServer.listen(on: NetworkAddress(parsing: "127.0.0.1:\(port)")) else { continue }
        _ = consume listener
        return port
    }
    throw Failure("no port is free")
}

/// A real Prometheus with its own configuration and database.
final class PrometheusServer {
    static let isInstalled = ["prometheus", "promtool"].allSatisfy { IntegrationTests.isInstalled($0) }

    let port: UInt16
    let program: Program
    var url: String { "http://127.0.0.1:\(port)" }

    /// Starts it and waits until it answers.
    ///
    /// - Parameters:
    ///   - configuration: of prometheus.yml.
    ///   - samples: lines in OpenMetrics' format with times, which it has in its database.
    init(_ configuration: String = "global: {}\n", samples: String? = nil, in scratch: Scratch) throws {
        port = try freePort()
        try scratch.write(configuration, to: "prometheus.yml")
        if let samples {
            try scratch.write(samples, to: "samples")
            let importer = try Program(
                ["promtool", "tsdb", "create-blocks-from", "openmetrics", scratch["samples"], scratch["tsdb"]])
            guard try importer.end().code == 0 else { throw Failure(importer.text(.errors) + importer.text(.output)) }
        }
        program = try Program([
            "prometheus", "--config.file=\(scratch["prometheus.yml"])", "--storage.tsdb.path=\(scratch["tsdb"])",
            "--storage.tsdb.retention.time=10y", "--web.listen-address=127.0.0.1:\(port)",
        ])
        try program.line("Server is ready to receive web requests", on: .errors)
    }
}
