// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import WatchdogBase

extension ContainerNames {
    /// A container in Docker's state, as far as it is needed.
    private struct DockerState: Decodable {
        struct Settings: Decodable {
            let labels: [String: String]?

            enum CodingKeys: String, CodingKey { case labels = "Labels" }
        }

        let settings: Settings?

        enum CodingKeys: String, CodingKey { case settings = "Config" }
    }

    /// A container's configuration for its runtime, as far as it is needed.
    private struct RuntimeConfiguration: Decodable {
        let annotations: [String: String]?
    }

    private static let label = "org.opencontainers.image.version"
    private static let imageNames = ["io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"]

    /// The version of a container's image: its label `org.opencontainers.image.version`, or else its tag.
    ///
    /// - Returns: nil if the engine's files do not have it, or if another user could have written them.
    func imageVersion(of id: String) -> String? {
        let state = decoded(DockerState.self, "/var/lib/docker/containers/\(id)/config.v2.json")
        var version = state?.settings?.labels?[Self.label]
        // containerd has one folder for each namespace; podman and CRI-O share one place.
        let tasks = "/run/containerd/io.containerd.runtime.v2.task"
        let folders =
            (files.entries(tasks)?.value ?? []).map { "\(tasks)/\($0)/\(id)" }
            + ["/var/lib", "/run"].map { "\($0)/containers/storage/overlay-containers/\(id)/userdata" }
        for folder in folders where version == nil {
            guard let annotations = decoded(RuntimeConfiguration.self, "\(folder)/config.json")?.annotations else {
                continue
            }
            version = annotations[Self.label] ?? Self.imageNames.compactMap { annotations[$0] }.first.flatMap(Self.tag)
        }
        return version.flatMap { $0.isEmpty ? nil : $0.singleLine(limit: 128) }
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ path: String) -> Value? {
        guard let file = files.read(path), file.isTrusted else { return nil }
        return try? JSONDecoder().decode(type, from: Data(file.value))
    }

    /// `1.0` of `registry:5000/shop:1.0@sha256:…`; nil without a tag, and for `latest`, which names no version.
    private static func tag(of image: String) -> String? {
        let name = image.split(separator: "/").last?.split(separator: "@").first ?? ""
        let parts = name.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[1] != "latest" else { return nil }
        return String(parts[1])
    }
}
