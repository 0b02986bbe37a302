// SPDX-License-Identifier: Apache-2.0

import WatchdogBase

/// The orchestrator's names for the place of the app, which distinguish one of many equal containers.
public struct WorkloadDetails: Codable, Equatable, Sendable {
    /// The pod's name.
    public var podName: String?
    /// The pod's namespace.
    public var podNamespace: String?
    /// The pod's UID.
    public var podUID: String?
    /// The node's name.
    public var nodeName: String?
    /// The container's name within its pod.
    public var containerName: String?

    /// The maximum length of a value: Kubernetes's names are DNS subdomains.
    static let limit = 253

    /// Reads the variables `POD_NAME`, `POD_NAMESPACE`, `POD_UID`, `NODE_NAME` and `CONTAINER_NAME`, which manifests
    /// set by convention; nil if none of them is a valid name.
    ///
    /// - Parameter variable: the supervisor's environment.
    public init?(_ variable: (String) -> String?) {
        func name(_ key: String) -> String? { variable(key).flatMap { Self.isName($0) ? $0 : nil } }
        podName = name("POD_NAME")
        podNamespace = name("POD_NAMESPACE")
        podUID = name("POD_UID")
        nodeName = name("NODE_NAME")
        containerName = name("CONTAINER_NAME")
        if pairs.isEmpty { return nil }
    }

    /// The variables that are set, in a fixed order.
    public var pairs: [(name: String, value: String)] {
        let all = [
            ("POD_NAME", podName), ("POD_NAMESPACE", podNamespace), ("POD_UID", podUID), ("NODE_NAME", nodeName),
            ("CONTAINER_NAME", containerName),
        ]
        return all.compactMap { name, value in value.map { (name, $0) } }
    }

    /// `pod shop/cart-7f9c · container cart · node worker-2`.
    package var words: String {
        let pod = podName.map { "pod " + (podNamespace.map { "\($0)/" } ?? "") + $0 }
        let parts = [
            pod ?? podNamespace.map { "namespace \($0)" }, podName == nil ? podUID.map { "pod \($0)" } : nil,
            containerName.map { "container \($0)" }, nodeName.map { "node \($0)" },
        ]
        return parts.compactMap(\.self).joined(separator: " · ").singleLine(limit: 1_024)
    }

    /// Whether the text is a name or, as some manifests have it, an image reference; other characters might need
    /// quoting.
    private static func isName(_ text: String) -> Bool {
        (1...limit).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._:/@".utf8.contains(byte)
                }
            }
    }
}
