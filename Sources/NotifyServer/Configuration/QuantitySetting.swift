/// A setting with its own parser, whose value is a number, a number with a unit, or a word.
struct QuantitySetting: Sendable {
    /// Describes a valid value, for the error about an invalid one.
    let expectation: String
    let differs: @Sendable (ServerConfiguration, ServerConfiguration) -> Bool
    private let assign: @Sendable (String, inout ServerConfiguration) -> Bool

    /// - Parameter parse: Converts a text to a value. Returns `nil` if the text is invalid.
    init<Value: Equatable & Sendable>(
        _ path: ConfigurationSetting.Path<Value>, expectation: String, parse: @escaping @Sendable (String) -> Value?
    ) {
        self.expectation = expectation
        differs = { $0[keyPath: path] != $1[keyPath: path] }
        assign = { text, configuration in
            guard let value = parse(text) else { return false }
            configuration[keyPath: path] = value
            return true
        }
    }

    /// Sets the value in the configuration.
    ///
    /// - Returns: `false` if the text is invalid; the configuration is then unchanged.
    func apply(_ text: String, to configuration: inout ServerConfiguration) -> Bool { assign(text, &configuration) }
}
