import ArgumentParser
import NotifyUnits

/// The arguments for a number of things, such as the value of `--count`.
enum CountArgument {
    /// Reads a whole number. A negative number is read, too, so that the command can refuse it with the accepted range.
    ///
    /// - Throws: `ValidationError` for other texts, and for a number with a superfluous 0, which other programs read as
    ///   octal. ArgumentParser prepends the option and the value to the message.
    static func count(_ text: String) throws -> Int {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative ? String(text.dropFirst()) : text
        guard let count = Quantity.count(digits) else {
            let isTooHigh = digits.count > 18 && digits.allSatisfy { $0.isASCII && $0.isNumber }
            throw ValidationError(isTooHigh ? "the number is too high" : "expected a whole number, such as 10")
        }
        return isNegative ? -count : count
    }
}
