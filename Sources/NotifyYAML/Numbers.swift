/// Values of scalars that are written as numbers: `5`, `-1_000`, `0x1F`, `0o17`, `017`, `0b101`, `1:30` (90), `.inf`.
enum Numbers {
    /// - Returns: `nil` if the text is not an integer, or if the integer does not fit into `Int`.
    static func integer(_ text: String) -> Int? {
        let (sign, digits) = parts(text)
        if digits.contains(":") {
            guard !digits.contains(".") else { return nil }
            return baseSixty(digits).flatMap { Int(exactly: sign == "-" ? -$0 : $0) }
        }
        for (prefix, radix) in [("0x", 16), ("0b", 2), ("0o", 8), ("0", 8)]
        where digits.hasPrefix(prefix) && digits.count > prefix.count {
            return Int(sign + digits.dropFirst(prefix.count), radix: radix)
        }
        return Int(sign + digits)
    }

    /// - Returns: `nil` if the text is not a number.
    static func float(_ text: String) -> Double? {
        let (sign, digits) = parts(text)
        let magnitude: Double? =
            switch digits.lowercased() {
            case ".inf": .infinity
            case ".nan": .nan
            case let digits: digits.contains(":") ? baseSixty(digits) : Double(digits)
            }
        return magnitude.map { sign == "-" ? -$0 : $0 }
    }

    /// The sign ("-" or empty), and the digits without separators. Both are empty if the text has a second sign.
    private static func parts(_ text: String) -> (sign: String, digits: String) {
        let isNegative = text.hasPrefix("-")
        let digits = text.dropFirst(isNegative || text.hasPrefix("+") ? 1 : 0).filter { $0 != "_" }
        return digits.hasPrefix("-") || digits.hasPrefix("+") ? ("", "") : (isNegative ? "-" : "", digits)
    }

    /// The value of a number in base 60: `1:30` is 90.
    private static func baseSixty(_ text: String) -> Double? {
        var value = 0.0
        for part in text.split(separator: ":", omittingEmptySubsequences: false) {
            guard let digits = Double(part) else { return nil }
            value = value * 60 + digits
        }
        return value
    }
}
