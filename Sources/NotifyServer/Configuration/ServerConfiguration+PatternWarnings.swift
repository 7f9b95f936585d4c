import NotifyCenter
import NotifyLog
import NotifyStore
import NotifyUnits

extension ServerConfiguration {
    /// Warnings about tokens in the patterns of rules that look like wildcards but are not: a rule that denies `hr*`
    /// denies only the name with the character `*`. Each warning is one line.
    var patternWarnings: [String] {
        let rules = policy.flatMap { rule in
            PatternWarning.texts(rule.names.map(\.string)).map { text in
                guard case .file(let path, line: let line) = rule.source else { return text }
                return "\(path):\(line): policy: \(text)"
            }
        }
        let retention = store.retention.configuredRules.flatMap { rule in
            PatternWarning.texts(rule.patterns.map(\.string)).map { "log.retention: \($0)" }
        }
        return rules + retention
    }
}
