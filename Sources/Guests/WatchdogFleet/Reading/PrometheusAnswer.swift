// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

/// The response of Prometheus to a query whose result is an instant vector.
///
/// https://prometheus.io/docs/prometheus/latest/querying/api/
public enum PrometheusAnswer {
    /// The reason why a response is unusable, worded to follow the server's address.
    public struct Failure: Error, Hashable, Sendable {
        /// "rejects the query: …".
        public let reason: String
    }

    /// A value with its labels.
    struct Sample: Equatable {
        let labels: [String: String]
        let value: Double
    }

    private struct Envelope: Decodable {
        let status: String
        let data: Result?
        let errorType: String?
        let error: String?
    }

    private struct Result: Decodable {
        let resultType: String
        let result: [Series]
    }

    private struct Series: Decodable {
        let metric: [String: String]
        let value: String

        enum CodingKeys: CodingKey {
            case metric, value
        }

        /// `[1700000000.1, "0.5"]`: the time, which is that of the query, and the value.
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            metric = try container.decode([String: String].self, forKey: .metric)
            var pair = try container.nestedUnkeyedContainer(forKey: .value)
            _ = try pair.decode(Double.self)
            value = try pair.decode(String.self)
        }
    }

    /// Reads an answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body, which is untrusted.
    /// - Returns: the samples with finite values.
    static func samples(status: Int, body: [UInt8]) throws(Failure) -> [Sample] {
        let answer = try? JSONDecoder().decode(Envelope.self, from: Data(body))
        guard let answer else {
            throw Failure(
                reason: status == 200
                    ? "is not Prometheus: its answer is unexpected" : "answers with HTTP status \(status)"
            )
        }
        guard status == 200, answer.status == "success", let data = answer.data else {
            let reason = [answer.errorType, answer.error].compactMap(\.self).joined(separator: ": ")
            throw Failure(reason: "rejects the query (HTTP status \(status)): \(reason.singleLine(limit: 300))")
        }
        guard data.resultType == "vector" else {
            throw Failure(reason: "is not Prometheus: its answer is unexpected")
        }
        return data.result.compactMap { series in
            guard let value = Double(series.value), value.isFinite else { return nil }
            return Sample(labels: series.metric, value: value)
        }
    }
}
