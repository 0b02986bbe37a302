// SPDX-License-Identifier: Apache-2.0

import SampleSupport
import Testing

@Suite("Raster")
struct RasterTests {
    @Test("Lightness is the average of the pixels, even for a single one", arguments: [(1, 1), (7, 3), (200, 100)])
    func lightness(width: Int, height: Int) {
        #expect(Raster(width: width, height: height, color: .init(0, 0, 0)).lightness == 0)
        #expect(Raster(width: width, height: height, color: .init(255, 255, 255)).lightness == 255)
        #expect(Raster(width: width, height: height, color: .init(30, 60, 90)).lightness == 60)
    }

    @Test("At half the size, each pixel is the average of four")
    func scaling() {
        var raster = Raster(width: 4, height: 2, color: .init(0, 0, 0))
        raster[0, 0] = .init(100, 0, 0)
        raster[1, 1] = .init(0, 200, 0)
        let half = raster.scaled(toWidth: 2, height: 1)
        #expect(half[0, 0] == .init(25, 50, 0))
        #expect(half[1, 0] == .init(0, 0, 0))
    }

    @Test("Shapes are clipped to the picture")
    func clipping() {
        var raster = Raster(width: 8, height: 8)
        raster.fill(-5, -5, 100, 7, .ink)
        raster.line(from: (-3, 4), to: (20, 4), .accent)
        raster.write("Outside", 6, 6)
        raster[100, 100] = .ink
        #expect(raster[0, 0] == .ink)
        #expect(raster[7, 1] == .ink)
        #expect(raster[0, 2] == .paper)
        #expect(raster[7, 4] == .accent)
    }
}
