import ArgumentParser

/// A command whose arguments are patterns of names, or are checked for what looks like a wildcard and is none.
protocol PatternTaking: ParsableCommand {
    var patterns: [String] { get }
}
