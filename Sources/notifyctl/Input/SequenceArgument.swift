import ArgumentParser
import NotifyUnits

/// The arguments for the sequence of a message or of a dead letter.
enum SequenceArgument {
    /// - Throws: `ValidationError` for other texts, for 0, and for a number with a superfluous 0, which other programs
    ///   read as octal. ArgumentParser prepends the argument and the value to the message.
    static func sequence(_ text: String, of thing: String = "message") throws -> UInt64 {
        guard let number = Quantity.count(text), number > 0 else {
            throw ValidationError("expected the sequence of a \(thing), such as 4711")
        }
        return UInt64(number)
    }

    /// The sequence of a value, or 0 for none.
    ///
    /// - Throws: `ValidationError`, as for other sequences.
    static func revision(_ text: String) throws -> UInt64 {
        guard let number = Quantity.count(text) else {
            throw ValidationError("expected the sequence of a value, such as 4711, or 0 for none")
        }
        return UInt64(number)
    }
}
