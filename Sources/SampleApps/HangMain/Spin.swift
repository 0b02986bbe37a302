// SPDX-License-Identifier: Apache-2.0

@inline(never)
func renderChart() {
    let height = layoutBars()
    print("HangMain: \(height) pixels")
}

@inline(never)
func layoutBars() -> UInt64 {
    let highest = sumPrimes()
    return highest % 480
}

/// Sums all 64-bit primes, which practically never ends.
@inline(never)
func sumPrimes() -> UInt64 {
    var sum: UInt64 = 0
    for candidate in 2...UInt64.max where isPrime(candidate) {
        sum &+= candidate
    }
    return sum
}

@inline(never)
private func isPrime(_ number: UInt64) -> Bool {
    var divisor: UInt64 = 2
    while divisor * divisor <= number {
        if number % divisor == 0 { return false }
        divisor += 1
    }
    return true
}
