import Testing

/// Tests with real programs over real sockets. Two cores do not carry many daemons at once, so they run one by one:
/// every suite of this folder is nested in this one.
@Suite(.serialized) enum IntegrationTests {}
