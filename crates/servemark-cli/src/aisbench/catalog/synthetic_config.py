# The settings of synthetic prompts in AISBench's file of this name.

synthetic_config = {
    "Type": "tokenid",
    "RequestCount": 10,
    "TrustRemoteCode": False,
    "StringConfig": {
        "Input": {"Method": "uniform", "Params": {"MinValue": 1, "MaxValue": 200}},
        "Output": {
            "Method": "gaussian",
            "Params": {"Mean": 100, "Var": 200, "MinValue": 1, "MaxValue": 100},
        },
    },
    "TokenIdConfig": {"RequestSize": 10, "PrefixLen": 0},
}
