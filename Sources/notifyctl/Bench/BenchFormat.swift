/// Formats the figures of a benchmark.
enum BenchFormat {
    /// A number with commas between groups of three digits.
    static func grouped(_ number: UInt64) -> String {
        let digits = Array(String(number))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// A time with at least three significant digits, and its unit.
    static func time(_ nanoseconds: UInt64) -> String {
        let units: [(limit: UInt64, divisor: Double, name: String)] = [
            (1_000, 1, "ns"), (1_000_000, 1e3, "µs"), (1_000_000_000, 1e6, "ms"),
        ]
        let unit = units.first { nanoseconds < $0.limit } ?? (0, 1e9, "s")
        return "\(significant(Double(nanoseconds) / unit.divisor)) \(unit.name)"
    }

    /// A number with all digits before the decimal point, and as many decimals as three significant digits need.
    static func significant(_ number: Double) -> String {
        guard number < 100 else { return grouped(UInt64(number.rounded())) }
        let decimals = number < 10 ? 2 : 1
        let scale = number < 10 ? 100.0 : 10.0
        let scaled = String(UInt64((number * scale).rounded()))
        let padded = String(repeating: "0", count: max(0, decimals + 1 - scaled.count)) + scaled
        return "\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }
}
