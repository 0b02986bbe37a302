// SPDX-License-Identifier: Apache-2.0

import SampleSupport
import Testing

@Suite("PNG")
struct PNGTests {
    @Test("A picture survives encoding and decoding", arguments: [(1, 1), (3, 2), (64, 64)])
    func roundTrip(width: Int, height: Int) throws {
        let raster = Raster.photo(7, side: 64).scaled(toWidth: width, height: height)
        #expect(try PNG.decode(PNG.encode(raster)) == raster)
    }

    @Test("Any damage is rejected with an error")
    func damage() {
        let bytes = PNG.encode(.photo(7, side: 16))
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 0x10
            #expect(throws: PNG.Damage.self) { try PNG.decode(damaged) }
            #expect(throws: PNG.Damage.self) { try PNG.decode(Array(bytes.prefix(index))) }
        }
    }

    @Test("All five filters are undone")
    func filters() throws {
        let raster = Raster.photo(3, side: 5).scaled(toWidth: 2, height: 5)
        #expect(try PNG.decode(PNG.encode(raster, filters: [0, 1, 2, 3, 4])) == raster)
    }
}
