import Testing

@testable import notifyctl

@Suite struct HistogramTests {
    @Test func `an empty histogram has no values`() {
        let histogram = Histogram()
        #expect(histogram.count == 0)
        #expect(histogram.value(at: 0.5) == 0)
        #expect(histogram.maximum == 0)
    }

    @Test(arguments: [0, 1, 127, 128, 255, 256, 1_000, 1_234_567, 987_654_321, 1 << 43, 1 << 44 - 1] as [UInt64])
    func `a single value is reported without rounding`(value: UInt64) {
        var histogram = Histogram()
        histogram.record(value)
        for fraction in [0, 0.5, 0.999, 1] { #expect(histogram.value(at: fraction) == value) }
    }

    @Test func `values that are too large share the last bucket`() {
        var histogram = Histogram()
        histogram.record(.max)
        histogram.record(1 << 50)
        #expect(histogram.maximum == .max)
        #expect(histogram.value(at: 0.5) == 1 << 44 - 1)
    }

    @Test func `percentiles exceed the exact ones by less than 1%`() {
        var generator = SystemRandomNumberGenerator()
        for highest in [100, 10_000, 5_000_000_000] as [UInt64] {
            var histogram = Histogram()
            var values: [UInt64] = []
            for _ in 0..<10_000 {
                let value = UInt64.random(in: 0...highest, using: &generator)
                values.append(value)
                histogram.record(value)
            }
            values.sort()
            for (fraction, rank) in [(0.5, 5_000), (0.9, 9_000), (0.99, 9_900), (0.999, 9_990), (1, 10_000)] {
                let exact = values[rank - 1]
                let reported = histogram.value(at: fraction)
                #expect(exact <= reported && Double(reported - exact) < 0.01 * Double(exact) + 1, "\(fraction)")
            }
            #expect(histogram.maximum == values.last)
        }
    }

    @Test func `the sum of histograms equals one histogram of all values`() {
        var (one, other, both) = (Histogram(), Histogram(), Histogram())
        for value in 0..<1_000 as Range<UInt64> {
            one.record(value)
            other.record(value * value)
            both.record(value)
            both.record(value * value)
        }
        one.add(other)
        #expect(one.count == both.count)
        #expect(one.maximum == both.maximum)
        for fraction in [0.1, 0.5, 0.9, 0.99] { #expect(one.value(at: fraction) == both.value(at: fraction)) }
    }
}
