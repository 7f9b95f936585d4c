package import NotifyCenter

extension NamePattern {
    /// Creates a pattern from the text in a request.
    ///
    /// - Throws: `invalidPattern` if the text breaks a rule.
    package init(requested text: String) throws(WireError) {
        do {
            try self.init(text)
        } catch {
            throw WireError(error)
        }
    }
}

extension WireError {
    /// The error about a name or a pattern that breaks a rule: `invalidName` or `invalidPattern`.
    package init(_ error: NameError) {
        self.init(ErrorCode(error), error.message)
    }
}

extension ErrorCode {
    /// The code for a name or a pattern that breaks a rule.
    package init(_ error: NameError) {
        self = error.isPattern ? .invalidPattern : .invalidName
    }
}
