import ArgumentParser

/// A command whose arguments are patterns of names, or names that are checked for characters that look like wildcards.
protocol PatternTaking: ParsableCommand {
    var patterns: [String] { get }
}
