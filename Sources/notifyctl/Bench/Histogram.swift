/// A histogram of times in nanoseconds, with a relative error below 1%. Recording does not allocate.
///
/// Values below 128 have a bucket each. Each further power of two is divided into 128 buckets of equal width. Times
/// from about 4.9 hours on share the last bucket.
struct Histogram: Sendable {
    private static let precisionBits = 7
    private static let bucketsPerPower = 1 << precisionBits
    private static let valueBits = 44
    private static let largestValue = UInt64(1) << valueBits - 1

    private var counts = [UInt64](
        repeating: 0, count: (valueBits - precisionBits + 1) * bucketsPerPower)
    /// The number of recorded values.
    private(set) var count: UInt64 = 0
    /// The largest recorded value, without rounding.
    private(set) var maximum: UInt64 = 0

    mutating func record(_ nanoseconds: UInt64) {
        counts[Self.bucket(of: nanoseconds)] += 1
        count += 1
        maximum = max(maximum, nanoseconds)
    }

    /// Adds the values of another histogram.
    mutating func add(_ other: Histogram) {
        for (bucket, count) in other.counts.enumerated() { counts[bucket] += count }
        count += other.count
        maximum = max(maximum, other.maximum)
    }

    /// The percentile of a fraction: at least this part of the recorded values is less than or equal to the result.
    ///
    /// Rounded up by less than 1%. 0 if the histogram is empty.
    func value(at fraction: Double) -> UInt64 {
        let rank = max(1, UInt64((fraction * Double(count)).rounded(.up)))
        var sum: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            sum += count
            if sum >= rank { return min(Self.upperBound(of: bucket), maximum) }
        }
        return maximum
    }

    private static func bucket(of value: UInt64) -> Int {
        let value = min(value, largestValue)
        let shift = max(0, 63 - (value | 1).leadingZeroBitCount - precisionBits)
        return shift * bucketsPerPower + Int(value >> UInt64(shift))
    }

    /// The largest value in a bucket.
    private static func upperBound(of bucket: Int) -> UInt64 {
        // The bucket of a value is `shift * bucketsPerPower + (value >> shift)`. If `shift` is above 0, the second
        // summand is from `bucketsPerPower` to `2 * bucketsPerPower - 1`, so the division gives `shift + 1`.
        let shift = max(0, bucket / bucketsPerPower - 1)
        return UInt64(bucket - shift * bucketsPerPower + 1) << UInt64(shift) - 1
    }
}
