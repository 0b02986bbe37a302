// SPDX-License-Identifier: Apache-2.0

extension RandomAccessCollection {
    /// Binary search for the first index for which `isBeyond` is true; it must be true for all later elements.
    func partitionPoint(_ isBeyond: (Element) -> Bool) -> Index {
        var low = startIndex
        var count = self.count
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if isBeyond(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
