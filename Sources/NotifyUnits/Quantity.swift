/// Parses counts, sizes and durations, and formats sizes and durations. A number never begins with a superfluous 0,
/// because other programs read such a number as octal.
package enum Quantity {
    private typealias Unit = (name: String, factor: UInt64)

    private static let sizes: [Unit] = [
        ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1),
    ]
    /// The units of durations, in nanoseconds.
    private static let durations: [Unit] = [
        ("w", 7 * 86_400_000_000_000), ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000),
        ("s", 1_000_000_000), ("ms", 1_000_000),
    ]
    private static let nanosecondsPerSecond: UInt64 = 1_000_000_000

    /// Parses a count such as `4096`; `nil` if it is invalid or overflows.
    package static func count(_ text: String) -> Int? {
        var rest = Substring(text).utf8
        guard let number = Number(&rest), rest.isEmpty, number.fraction == nil, !number.isTooHigh else {
            return nil
        }
        return Int(exactly: number.whole)
    }

    /// Parses a size such as `4096`, `512MiB` or `1.5GiB` into bytes; `nil` if it is invalid, overflows or has a part
    /// of a byte.
    package static func bytes(_ text: String) -> UInt64? {
        var rest = Substring(text).utf8
        guard let number = Number(&rest), let unit = sizes.first(where: { $0.name.utf8.elementsEqual(rest) }) else {
            return nil
        }
        return number.scaled(by: unit.factor, isExact: true)
    }

    /// Parses a duration: a number of seconds such as `90` or `0.5`, or numbers with units, from the longest to the
    /// shortest, such as `90s`, `1h30m`, `1.5h` or `1w`. `nil` if it is invalid. A duration of more than 292 years
    /// counts as 292 years.
    package static func duration(_ text: String) -> Duration? {
        var rest = Substring(text).utf8
        var total: UInt64 = 0
        var shortest: UInt64?
        repeat {
            guard let number = Number(&rest) else { return nil }
            let name = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            rest = rest[name.endIndex...]
            // Nothing may follow a fraction, or a number without a unit.
            guard rest.isEmpty || (number.fraction == nil && !name.isEmpty) else { return nil }
            let factor: UInt64
            if name.isEmpty {
                guard shortest == nil else { return nil }
                factor = nanosecondsPerSecond
            } else {
                guard let unit = durations.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
                factor = unit.factor
            }
            if let shortest, factor >= shortest { return nil }
            shortest = factor
            let (sum, overflow) = total.addingReportingOverflow(number.scaled(by: factor, isExact: false) ?? .max)
            total = overflow ? .max : sum
        } while !rest.isEmpty
        return .nanoseconds(Int64(clamping: total))
    }

    /// Describes a valid size within a range, for the error about an invalid size.
    package static func expectation(ofBytes range: ClosedRange<UInt64>) -> String {
        "a size from \(describe(bytes: range.lowerBound)) to \(describe(bytes: range.upperBound)), a number of bytes "
            + "or one with the unit KiB, MiB, GiB or TiB"
    }

    /// Describes a valid duration within a range, for the error about an invalid duration.
    package static func expectation(of range: ClosedRange<Duration>) -> String {
        "a duration from \(describe(range.lowerBound)) to \(describe(range.upperBound)), \(durationForms)"
    }

    /// The forms of a duration, for errors.
    package static let durationForms =
        "seconds, or numbers with the units ms, s, m, h, d or w such as 90s, 1h30m or 1.5h"

    /// Formats a size in the largest unit that divides it.
    package static func describe(bytes: UInt64) -> String {
        let unit = sizes.first { bytes >= $0.factor && bytes % $0.factor == 0 } ?? ("", 1)
        return "\(bytes / unit.factor)\(unit.name)"
    }

    /// Formats a size in bytes or binary units, rounded down to a tenth, such as `1.5MiB`.
    package static func rounded(bytes: UInt64) -> String {
        guard let unit = sizes.first(where: { bytes >= $0.factor }), unit.factor > 1 else { return "\(bytes)B" }
        let (whole, rest) = bytes.quotientAndRemainder(dividingBy: unit.factor)
        // Can't overflow, because the largest unit is 2^40.
        let tenths = rest * 10 / unit.factor
        return "\(whole)\(tenths == 0 ? "" : ".\(tenths)")\(unit.name)"
    }

    /// Formats a duration in the longest unit, up to days, that divides it; zero without a unit. Rounds up to
    /// milliseconds, because `0` often means that there is no limit.
    package static func describe(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let units = durations.dropFirst().map { (name: $0.name, milliseconds: Int64($0.factor / 1_000_000)) }
        guard milliseconds != 0, let unit = units.first(where: { milliseconds % $0.milliseconds == 0 }) else {
            return "0"
        }
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

/// A decimal number, such as `5` or `1.5`.
private struct Number {
    /// The most digits of a fraction.
    private static let fractionDigits = 9

    var whole: UInt64
    /// Whether the written number exceeds the highest number, which is then in ``whole``.
    let isTooHigh: Bool
    var fraction: (value: UInt64, scale: UInt64)?

    /// Takes a number from the front of a text; `nil` if there is none, or if it begins with a superfluous 0. A number
    /// that is too high is taken as the highest.
    init?(_ text: inout Substring.UTF8View) {
        guard let digits = Self.digits(&text), digits.count == 1 || digits.first != "0" else { return nil }
        isTooHigh = UInt64(digits) == nil
        whole = UInt64(digits) ?? .max
        guard text.first == UInt8(ascii: ".") else { return }
        text = text.dropFirst()
        guard let decimals = Self.digits(&text), decimals.count <= Self.fractionDigits, let value = UInt64(decimals)
        else { return nil }
        fraction = (value, decimals.reduce(1) { scale, _ in scale * 10 })
    }

    private static func digits(_ text: inout Substring.UTF8View) -> String? {
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        text = text[digits.endIndex...]
        return digits.isEmpty ? nil : String(Substring(digits))
    }

    /// The product; `nil` if it overflows, or if it must be exact and is not a whole number.
    func scaled(by factor: UInt64, isExact: Bool) -> UInt64? {
        if isTooHigh { return nil }
        let (product, overflow) = whole.multipliedReportingOverflow(by: factor)
        guard !overflow, let fraction else { return overflow ? nil : product }
        let part = fraction.value.multipliedFullWidth(by: factor)
        let (quotient, remainder) = fraction.scale.dividingFullWidth(part)
        guard !isExact || remainder == 0 else { return nil }
        let (sum, overflows) = product.addingReportingOverflow(quotient)
        return overflows ? nil : sum
    }
}
