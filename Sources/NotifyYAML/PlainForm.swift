/// The forms of plain numbers and timestamps: those of <https://yaml.org/type/>, with the exceptions of
/// ``Node/Tag/init(ofPlain:)``.
enum PlainForm {
    static func isInteger(_ text: String) -> Bool {
        let forms: [(inout PlainScanner) -> Bool] = [
            { $0.skip("0b") && $0.skipAll(in: "01_") > 0 },
            { $0.skip("0x") && $0.skipAll(in: "0123456789abcdefABCDEF_") > 0 },
            { $0.skip("0o") && $0.skipAll(in: "01234567_") > 0 },
            { $0.skip("0") && $0.skipAll(in: "01234567_") >= 0 },
            { $0.skipDigits(from: "123456789") },
            { $0.skipDigits(from: "123456789") && $0.skipSixtieths() },
        ]
        return forms.contains { form in
            var scanner = PlainScanner(text)
            scanner.skipSign()
            return form(&scanner) && scanner.isAtEnd
        }
    }

    static func isFloat(_ text: String) -> Bool {
        if [".nan", ".NaN", ".NAN"].contains(text) { return true }
        let signed: [(inout PlainScanner) -> Bool] = [
            { $0.skipDigits(from: PlainScanner.digits) && $0.skipFraction() && $0.skipExponent() },
            { $0.skipDigits(from: PlainScanner.digits) && $0.skipSixtieths() && $0.skipPoint() && $0.skipFraction() },
            { $0.skip(".inf") || $0.skip(".Inf") || $0.skip(".INF") },
        ]
        for form in signed {
            var scanner = PlainScanner(text)
            scanner.skipSign()
            if form(&scanner), scanner.isAtEnd { return true }
        }
        var scanner = PlainScanner(text)
        return scanner.skip(".") && scanner.skipAll(in: PlainScanner.digits + "_") > 0
            && scanner.skipExponent(signRequired: true) && scanner.isAtEnd
    }

    /// A date, or a date and a time with an optional fraction and time zone.
    static func isTimestamp(_ text: String) -> Bool {
        var date = PlainScanner(text)
        if date.skipNumber(4...4), date.skip("-"), date.skipNumber(2...2), date.skip("-"), date.skipNumber(2...2),
            date.isAtEnd
        {
            return true
        }
        var scanner = PlainScanner(text)
        guard scanner.skipNumber(4...4), scanner.skip("-"), scanner.skipNumber(1...2), scanner.skip("-"),
            scanner.skipNumber(1...2), scanner.skip("T") || scanner.skip("t") || scanner.skipAll(in: " \t") > 0,
            scanner.skipNumber(1...2), scanner.skip(":"), scanner.skipNumber(2...2), scanner.skip(":"),
            scanner.skipNumber(2...2)
        else { return false }
        if scanner.skip(".") { scanner.skipAll(in: PlainScanner.digits) }
        return scanner.isAtEnd || scanner.skipTimeZone() && scanner.isAtEnd
    }
}

/// Skips parts of a text from its beginning.
struct PlainScanner {
    static let digits = "0123456789"

    private var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ prefix: String) -> Bool {
        guard rest.starts(with: prefix.utf8) else { return false }
        rest = rest.dropFirst(prefix.utf8.count)
        return true
    }

    /// Skips all leading characters of a set, and returns how many.
    @discardableResult
    mutating func skipAll(in set: String) -> Int {
        let end = rest.firstIndex { !set.utf8.contains($0) } ?? rest.endIndex
        let count = rest.distance(from: rest.startIndex, to: end)
        rest = rest[end...]
        return count
    }

    mutating func skipSign() {
        _ = skip("-") || skip("+")
    }

    /// Skips all leading digits. Returns whether their count is one of `lengths`.
    mutating func skipNumber(_ lengths: ClosedRange<Int>) -> Bool {
        lengths.contains(skipAll(in: Self.digits))
    }

    /// Skips a number that begins with one of `first`; its other digits may be separated by `_`.
    mutating func skipDigits(from first: String) -> Bool {
        guard let byte = rest.first, first.utf8.contains(byte) else { return false }
        skipAll(in: Self.digits + "_")
        return true
    }

    /// Skips one or more groups such as `:59`.
    mutating func skipSixtieths() -> Bool {
        var count = 0
        while skip(":") {
            guard isSixtieth(skippedDigits()) else { return false }
            count += 1
        }
        return count > 0
    }

    private mutating func skippedDigits() -> [UInt8] {
        let before = Array(rest)
        return Array(before.prefix(skipAll(in: Self.digits)))
    }

    private func isSixtieth(_ digits: [UInt8]) -> Bool {
        digits.count == 1 || digits.count == 2 && digits[0] <= UInt8(ascii: "5")
    }

    /// Whether a point follows. Does not skip the point: `skipFraction` does.
    func skipPoint() -> Bool { rest.first == UInt8(ascii: ".") }

    /// Skips an optional fraction.
    mutating func skipFraction() -> Bool {
        if skip(".") { skipAll(in: Self.digits + "_") }
        return true
    }

    /// Skips an optional exponent.
    mutating func skipExponent(signRequired: Bool = false) -> Bool {
        guard skip("e") || skip("E") else { return true }
        guard skip("-") || skip("+") || !signRequired else { return false }
        return skipAll(in: Self.digits) > 0
    }

    mutating func skipTimeZone() -> Bool {
        skipAll(in: " \t")
        if skip("Z") { return true }
        guard skip("-") || skip("+"), skipNumber(1...2) else { return false }
        return isAtEnd || skip(":") && skipNumber(2...2)
    }
}
