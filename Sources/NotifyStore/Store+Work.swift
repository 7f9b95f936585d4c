package import NotifyLog

/// The work that the store does for requests.
extension Store {
    package func perform(_ work: StoreWork, answer: @escaping @Sendable (StoreAnswer) -> Void) {
        switch work {
        case .findSequence(let microseconds): findSequence(atOrAfter: microseconds) { answer(.found($0)) }
        case .summarize(let request): summarize(request) { answer(.summarized($0)) }
        case .purge(let request): purge(request) { answer(.purged($0)) }
        case .check:
            checkLog {
                answer(.checkAdvanced(percent: $0))
            } completion: {
                answer(.checked($0))
            }
        case .measureBacklogs(let policy): measureBacklogs(under: policy) { answer(.backlogs($0)) }
        case .beginBackup(let target): beginBackup(target: target) { answer(.backupMade($0)) }
        case .readBackup(let offset, let maximumBytes):
            readBackup(from: offset, maximumBytes: maximumBytes) { answer(.backupRead($0)) }
        case .endBackup: endBackup()
        }
    }
}
