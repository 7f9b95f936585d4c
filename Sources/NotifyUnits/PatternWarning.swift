/// The warning about tokens of patterns that look like wildcards but are not.
package enum PatternWarning {
    /// The warnings about patterns, one for each token that looks like a wildcard.
    package static func texts(_ patterns: [String]) -> [String] {
        patterns.flatMap { pattern in
            pattern.split(separator: ".").filter(looksLikeWildcard).map { token in
                "'\(token)' in '\(pattern)' is no wildcard and matches only itself: '*' stands for one whole token, and a "
                    + "final '>' for one or more"
            }
        }
    }

    private static func looksLikeWildcard(_ token: Substring) -> Bool {
        token != "*" && token != ">" && token.contains { "*>#".contains($0) }
    }
}
