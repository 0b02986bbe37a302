// SPDX-License-Identifier: Apache-2.0

import WatchdogVerdict

/// The images of a report with their origins, cached because thousands of frames use them.
struct ImageOrigins {
    private let images: [(ImageInfo, CodeOrigin)]

    /// - Parameters:
    ///   - images: the images that frames refer to.
    ///   - executable: the path of the process's executable.
    init(_ images: [ImageInfo], executable: String?) {
        self.images = images.map { ($0, CodeOrigin(of: $0, executable: executable)) }
    }

    /// An image by its index; ``ImageInfo/absent`` if there is none.
    subscript(index: Int) -> (image: ImageInfo, origin: CodeOrigin) {
        images.indices.contains(index) ? images[index] : (.absent, .unknown)
    }
}
