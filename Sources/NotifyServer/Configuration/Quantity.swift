/// Parses sizes and durations: an integer directly followed by its unit.
enum Quantity {
    private typealias Unit = (name: String, factor: UInt64)

    private static let sizes: [Unit] = [
        ("", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]
    private static let durations: [Unit] = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400)]

    /// Parses a size such as `4096` or `512MiB` into bytes; `nil` if it is invalid or overflows.
    static func bytes(_ text: String) -> UInt64? {
        value(of: text, in: sizes)
    }

    /// Parses a duration such as `90s` or `24h`; `0` needs no unit. `nil` if it is invalid or overflows.
    static func duration(_ text: String) -> Duration? {
        if text == "0" { return .zero }
        return value(of: text, in: durations).flatMap(Int64.init(exactly:)).map { .seconds($0) }
    }

    /// Describes a valid size within a range, for the error about an invalid one.
    static func expectation(ofBytes range: ClosedRange<UInt64>) -> String {
        "a size from \(describe(bytes: range.lowerBound)) to \(describe(bytes: range.upperBound)), a number of bytes "
            + "or one with the unit KiB, MiB, GiB or TiB"
    }

    /// Formats a size in the largest unit that divides it.
    private static func describe(bytes: UInt64) -> String {
        let unit = sizes.last { bytes >= $0.factor && bytes % $0.factor == 0 } ?? sizes[0]
        return "\(bytes / unit.factor)\(unit.name)"
    }

    private static func value(of text: String, in units: [Unit]) -> UInt64? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let number = UInt64(String(digits) ?? ""),
            let unit = units.first(where: { $0.name == text[digits.endIndex...] })
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        return overflow ? nil : product
    }
}
