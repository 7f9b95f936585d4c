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

    /// Describes a valid duration within a range, for the error about an invalid one.
    static func expectation(of range: ClosedRange<Duration>) -> String {
        "a duration from \(describe(range.lowerBound)) to \(describe(range.upperBound)), a number with the unit s, m, h "
            + "or d such as 90s or 24h"
    }

    /// Formats a size in the largest unit that divides it.
    static func describe(bytes: UInt64) -> String { describe(bytes, in: sizes) }

    /// Formats a duration of whole seconds in the largest unit that divides it; zero without a unit.
    static func describe(_ duration: Duration) -> String {
        duration == .zero ? "0" : describe(UInt64(clamping: duration.components.seconds), in: durations)
    }

    private static func describe(_ number: UInt64, in units: [Unit]) -> String {
        let unit = units.last { number >= $0.factor && number % $0.factor == 0 } ?? units[0]
        return "\(number / unit.factor)\(unit.name)"
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
