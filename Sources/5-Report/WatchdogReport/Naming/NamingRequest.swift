// SPDX-License-Identifier: Apache-2.0

/// Addresses of a stored report that need function names and line numbers.
public struct NamingRequest: Codable, Equatable, Sendable {
    /// An image whose file, or separate debug file, is available.
    public struct Image: Codable, Equatable, Sendable {
        /// The load address.
        public var base: UInt64
        /// Bytes from ``base`` to its end.
        public var size: UInt64
        /// The path in the process.
        public var path: String

        /// Creates an image.
        public init(base: UInt64, size: UInt64, path: String) {
            self.base = base
            self.size = size
            self.path = path
        }
    }

    /// One machine frame.
    public struct Address: Codable, Hashable, Sendable {
        /// Index into ``NamingRequest/images``.
        public var image: Int
        /// The frame's address minus the image's base.
        public var offset: UInt64
        /// An address that is certainly within the call, minus the image's base.
        public var lookup: UInt64
        /// Whether the frame is innermost, and kept even if its function only forwards to another one.
        public var isInnermost: Bool

        /// Creates an address.
        public init(image: Int, offset: UInt64, lookup: UInt64, isInnermost: Bool) {
            self.image = image
            self.offset = offset
            self.lookup = lookup
            self.isInnermost = isInnermost
        }
    }

    /// The maximum number of addresses in one request.
    public static let addressLimit = 1 << 16
    /// The maximum number of images in one request.
    public static let imageLimit = 512

    /// The images, in ascending order and without overlap; their files have the same indices.
    public var images: [Image]
    /// The addresses.
    public var addresses: [Address]

    /// Creates a request.
    public init(images: [Image], addresses: [Address]) {
        self.images = images
        self.addresses = addresses
    }

    /// The defect of the request; nil for a valid one.
    public var fault: String? {
        guard images.count <= Self.imageLimit else { return "\(images.count) images" }
        guard addresses.count <= Self.addressLimit else { return "\(addresses.count) addresses" }
        var end: UInt64 = 0
        for image in images {
            guard image.size > 0, image.base >= end, image.base <= .max - image.size else {
                return "images that overlap or end beyond the address space"
            }
            end = image.base + image.size
        }
        for address in addresses {
            guard images.indices.contains(address.image) else { return "image index \(address.image)" }
            let size = images[address.image].size
            guard address.lookup < size, address.offset <= size else { return "an address beyond its image" }
        }
        return nil
    }
}

/// The answer to a ``NamingRequest``.
public struct NamingAnswer: Codable, Equatable, Sendable {
    /// A call, either real or inlined into the next one.
    public struct Call: Codable, Equatable, Sendable {
        /// The name of the function.
        public var symbol: String?
        /// The address minus the function's start.
        public var symbolLocation: UInt64?
        /// The source file.
        public var sourceFile: String?
        /// The line in the source file.
        public var sourceLine: Int?
        /// Whether the compiler inlined the call into the next one.
        public var isInlined: Bool

        /// Creates a call.
        public init(
            symbol: String?, symbolLocation: UInt64?, sourceFile: String?, sourceLine: Int?, isInlined: Bool
        ) {
            self.symbol = symbol
            self.symbolLocation = symbolLocation
            self.sourceFile = sourceFile
            self.sourceLine = sourceLine
            self.isInlined = isInlined
        }
    }

    /// The maximum number of calls at one address: even macro-generated code has fewer nested inlined calls.
    public static let callLimit = 64

    /// The calls at each address in the order of the request, innermost first; empty for a function that only forwards.
    public var calls: [[Call]]
    /// Notes about missing data, with reasons.
    public var notes: [String]

    /// Creates an answer.
    public init(calls: [[Call]], notes: [String]) {
        self.calls = calls
        self.notes = notes
    }

    /// The defect of this answer to a request; nil for a valid one.
    public func fault(as answerTo: NamingRequest) -> String? {
        guard calls.count == answerTo.addresses.count else { return "\(calls.count) answers" }
        guard notes.count <= 1_024 else { return "\(notes.count) notes" }
        guard calls.allSatisfy({ $0.count <= Self.callLimit }) else { return "more calls at an address than there are" }
        for call in calls.lazy.joined() {
            guard (call.symbol == nil) == (call.symbolLocation == nil) else { return "half a symbol" }
            guard call.sourceLine ?? 1 > 0 else { return "line \(call.sourceLine ?? 0)" }
        }
        guard calls.allSatisfy({ $0.last?.isInlined != true }) else { return "an inlined call without its caller" }
        return nil
    }
}
