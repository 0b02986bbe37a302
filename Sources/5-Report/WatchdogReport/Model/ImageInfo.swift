// SPDX-License-Identifier: Apache-2.0

/// One image of a report.
public struct ImageInfo: Codable, Equatable, Sendable {
    /// The source of the image: `P` for the process, `A` for absent.
    public var source: String
    /// `x86_64`, `arm64`.
    public var arch: String?
    /// Load address.
    public var base: UInt64
    /// Bytes from ``base`` to its end.
    public var size: UInt64
    /// The UUID; in our reports the first 16 bytes of the build ID.
    public var uuid: String
    /// The path of the file.
    public var path: String?
    /// The last component of the path, or the name of the link by which the program was executed.
    public var name: String?

    /// Creates the values.
    public init(
        source: String, arch: String?, base: UInt64, size: UInt64, uuid: String, path: String?, name: String?
    ) {
        self.source = source
        self.arch = arch
        self.base = base
        self.size = size
        self.uuid = uuid
        self.path = path
        self.name = name
    }

    /// The image for frames outside all images.
    public static let absent = ImageInfo(
        source: "A", arch: nil, base: 0, size: 0, uuid: "00000000-0000-0000-0000-000000000000", path: nil, name: nil)

    /// Decodes an image; one without a base or size counts as absent.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        source = try container.decodeIfPresent(String.self, forKey: .source) ?? "A"
        arch = try container.decodeIfPresent(String.self, forKey: .arch)
        base = try container.decodeIfPresent(UInt64.self, forKey: .base) ?? 0
        size = try container.decodeIfPresent(UInt64.self, forKey: .size) ?? 0
        uuid = try container.decodeIfPresent(String.self, forKey: .uuid) ?? Self.absent.uuid
        path = try container.decodeIfPresent(String.self, forKey: .path)
        name = try container.decodeIfPresent(String.self, forKey: .name)
    }
}
